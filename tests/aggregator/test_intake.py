"""Every wrong report is refused with its own reason and changes nothing; every good one counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from aggregator.reasons import REASONS
from fsir.privacy.plan import final_stage, first_stage
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt
from tests.aggregator.batches import started, subspace_of, verdict_of
from tests.aggregator.federations import make_task, release_of, report, screening_task, topic

TASK = make_task()
STAGE = first_stage(TASK)


def blocks_with(change: Callable[[list[np.ndarray]], Any]) -> tuple[np.ndarray, ...]:
    """The blocks of an honest report, changed."""
    blocks = [block.copy() for block in release_of(TASK, STAGE, 1).blocks]
    change(blocks)
    return tuple(blocks)


def changed(raw: bytes, **fields: Any) -> bytes:
    """A message with other fields; None removes one."""
    table = msgpack.unpackb(raw) | fields
    return bytes(msgpack.packb({key: value for key, value in table.items() if value is not None}))


def renamed(raw: bytes, device: str) -> bytes:
    """The same fault under another name, if the message can be read so far."""
    try:
        return changed(raw, device=device) if msgpack.unpackb(raw)["device"] == "bad" else raw
    except (ValueError, TypeError, KeyError, msgpack.UnpackException):
        return raw


def with_huge_value(blocks: list[np.ndarray], index: int) -> None:
    blocks[index][0] = 2**40


GOOD = report(TASK, "bad", 1)
PACKED = msgpack.unpackb(GOOD)["blocks"]
OTHER = make_task(epoch=2)
WRONG: list[tuple[str, bytes]] = [
    ("malformed", b""),
    ("malformed", b"\xc1"),
    ("malformed", b"not msgpack at all"),
    ("malformed", GOOD[:-1]),
    ("malformed", GOOD + b"\0"),
    ("malformed", bytes(msgpack.packb([1, 2, 3]))),
    ("malformed", bytes(msgpack.packb({"v": 1, "kind": "report"}))),
    ("malformed", changed(GOOD, extra=1)),
    ("malformed", changed(GOOD, n=float("nan"))),
    ("malformed", changed(GOOD, n=-200)),
    ("malformed", changed(GOOD, n=None)),
    ("malformed", changed(GOOD, stage="middle")),
    ("malformed", changed(GOOD, device="a/b")),
    ("malformed", changed(GOOD, blocks=[float("inf")] * 5)),
    ("malformed", changed(GOOD, blocks=[*PACKED[:3], PACKED[3] + b"\xff", PACKED[4]])),
    ("malformed", changed(GOOD, blocks=[*PACKED[:4], PACKED[4][:-1]])),
    ("malformed", messages.encode(messages.Presence("bad", True))),
    ("malformed", b"\x81" * 5000),
    ("malformed", bytes(4 * 2**20 + 1)),
    ("wrong version", changed(GOOD, v=2)),
    ("wrong task", changed(GOOD, task=bytes(32))),
    ("wrong task", report(OTHER, "bad", 1)),
    ("wrong device", report(TASK, "other", 1)),
    ("wrong stage", changed(GOOD, stage="screening")),
    ("wrong shape", report(TASK, "bad", 1, blocks=(np.zeros(3, np.int64),) * 4)),
    ("wrong shape", changed(GOOD, blocks=None, votes=[[4, 3], b"\0\0"])),
    ("wrong size", changed(GOOD, n=199)),
    ("wrong size", changed(GOOD, n=201)),
    ("implausible", report(TASK, "bad", 1, blocks=blocks_with(lambda b: with_huge_value(b, 0)))),
    ("implausible", report(TASK, "bad", 1, blocks=blocks_with(lambda b: with_huge_value(b, 1)))),
    ("implausible", report(TASK, "bad", 1, blocks=blocks_with(lambda b: with_huge_value(b, 2)))),
    ("implausible", report(TASK, "bad", 1, blocks=blocks_with(lambda b: with_huge_value(b, 3)))),
]


@pytest.mark.parametrize(("reason", "raw"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_report_is_refused_with_its_reason(tmp_path: Path, reason: str, raw: bytes) -> None:
    aggregator = started(tmp_path / "s.db", TASK)
    verdict = verdict_of(aggregator, topic(TASK, "bad"), raw)
    assert (verdict.status, verdict.reason.partition(":")[0]) == ("refused", reason)
    assert len(verdict.reason) > len(reason) + 5  # the code, and something that helps
    (kept,) = aggregator.store.refused(10)
    assert (kept.reason, kept.device, kept.length) == (reason, "bad", len(raw))
    assert aggregator.store.totals(1, "final").devices == 0
    assert aggregator.verdicts == {("test", reason): 1}


def test_thirty_wrong_reports_among_a_thousand_good_ones(tmp_path: Path) -> None:
    good = {f"device-{i}": report(TASK, f"device-{i}", i) for i in range(1000)}
    clean = started(tmp_path / "clean.db", TASK)
    mixed = started(tmp_path / "mixed.db", TASK)
    for device, raw in good.items():
        clean.take(topic(TASK, device), raw)
    clean.commit(1.0)
    # Each wrong one comes from a device of its own, and in the middle of a batch of good ones.
    wrong = {f"wrong-{i}": (reason, raw) for i, (reason, raw) in enumerate(WRONG)}
    expected: dict[str, str] = {}
    receipts: dict[str, messages.Receipt] = {}
    pending = list(wrong.items())
    for i, (device, raw) in enumerate(good.items()):
        mixed.take(topic(TASK, device), raw)
        if i % 30 == 15 and pending:
            name, (reason, bad) = pending.pop()
            mixed.take(topic(TASK, name), renamed(bad, name))
            expected[name] = reason
        if i % 100 == 99:
            for answer in mixed.commit(1.0):
                receipt = decode(answer.payload, Receipt)
                receipts[receipt.device] = receipt
    second = report(TASK, "device-3", 99_999)
    assert verdict_of(mixed, topic(TASK, "device-3"), second).reason.startswith("second report")
    assert not pending
    assert len(expected) >= 30
    for name, reason in expected.items():
        (verdict,) = receipts[name].verdicts.values()
        assert (verdict.status, verdict.reason.partition(":")[0]) == ("refused", reason)
    for name in good:
        (verdict,) = receipts[name].verdicts.values()
        assert (verdict.status, verdict.reason) == ("counted", "")
    cached = mixed.store.totals(1, "final")
    without = clean.store.totals(1, "final")
    assert (cached.devices, cached.records, cached.values) == (1000, 200_000, without.values)
    dirty = subspace_of(mixed.estimate(2.0))
    pure = subspace_of(clean.estimate(2.0))
    assert dirty.basis.tobytes() == pure.basis.tobytes()
    assert (dirty.refused, pure.refused) == (len(expected) + 1, 0)


def test_every_reason_is_documented() -> None:
    assert {reason for reason, _ in WRONG} <= set(REASONS)
    assert all(len(text) > 20 for text in REASONS.values())


@pytest.mark.parametrize(
    "about",
    [
        "",
        "fsir/1/test/report",
        "fsir/1/test/report/",
        "fsir/1/test/report/a b",
        "fsir/1/none/report/x",
        "fsir/2/test/report/x",
        "fsir/1/test/task",
        "fsir/1/test/report/x/y",
        "fsir/1/test/report/+",
        "\0" * 70_000,
    ],
)
def test_a_wrong_topic_has_no_receipt_and_no_effect(tmp_path: Path, about: str) -> None:
    aggregator = started(tmp_path / "s.db", TASK)
    aggregator.take(about, GOOD)
    assert aggregator.commit(1.0) == []
    assert [row.reason for row in aggregator.store.refused(10)] == ["wrong topic"]


def test_a_final_report_before_the_active_set_is_refused(tmp_path: Path) -> None:
    task = screening_task(quorum=2)
    aggregator = started(tmp_path / "s.db", task)
    early = report(task, "d", 1, final_stage(task, (0, 1, 2)))
    assert verdict_of(aggregator, topic(task, "d"), early).reason.startswith("no active set")


def test_votes_of_another_shape_are_refused(tmp_path: Path) -> None:
    task = screening_task("votes")
    aggregator = started(tmp_path / "s.db", task)
    wide = report(task, "d", 1, votes=np.zeros((8, 4), np.bool_))
    assert verdict_of(aggregator, topic(task, "d"), wide).reason.startswith("wrong shape")
    blocks = release_of(task, first_stage(task), 1).blocks
    dense = report(task, "d", 1, votes=None, blocks=blocks)
    assert verdict_of(aggregator, topic(task, "d"), dense).reason.startswith("wrong shape")
