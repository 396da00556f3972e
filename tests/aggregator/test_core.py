"""Batches and tasks: whatever one message does, the others are counted; no task touches another."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggregator import core, intake, merging
from aggregator.store.errors import StoreBusyError, StoreError
from tests.aggregator.batches import deliver, kinds, start, started, verdict_of
from tests.aggregator.federations import make_task, report, topic

TASK = make_task(p=3, records=60)


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="another name"):
        start(tmp_path / "s.db", TASK, make_task(p=3, records=61))


def test_two_tasks_do_not_touch_each_other(tmp_path: Path) -> None:
    other = make_task(p=5, records=60, name="other")
    both = started(tmp_path / "s.db", TASK, other)
    for i in range(4):
        both.take(topic(TASK, f"d{i}"), report(TASK, f"d{i}", i))
        both.take(topic(other, f"d{i}"), report(other, f"d{i}", i))
    both.commit(1.0)
    alone = started(tmp_path / "t.db", other)
    deliver(alone, other, range(4))
    key = both.federations["other"].key
    assert both.store.totals(key, "final").values == alone.store.totals(1, "final").values
    assert kinds(both.estimate(2.0)) == ["subspace", "subspace"]


def test_an_exception_on_one_message_leaves_the_others_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    aggregator = started(tmp_path / "s.db", TASK)
    real = intake.parse

    def fails_on_one(arrival: intake.Arrival, reports: Any) -> None:
        real(arrival, reports)
        if arrival.device == "cursed":
            raise RuntimeError("never foreseen")

    monkeypatch.setattr(intake, "parse", fails_on_one)
    for i, device in enumerate(("a", "cursed", "b")):
        aggregator.take(topic(TASK, device), report(TASK, device, i))
    with caplog.at_level(logging.CRITICAL):
        answers = aggregator.commit(1.0)
    assert len(answers) == 3
    assert aggregator.verdicts == {("test", "counted"): 2, ("test", "internal error"): 1}
    (kept,) = aggregator.store.refused(9)
    assert (kept.device, kept.reason) == ("cursed", "internal error")
    assert "RuntimeError: never foreseen" in kept.detail
    assert aggregator.store.totals(1, "final").devices == 2


def test_an_exception_in_the_transaction_leaves_the_others_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregator = started(tmp_path / "s.db", TASK)
    real = merging.addressed

    def fails_on_one(federation: Any, device: str, *rest: Any) -> Any:
        if device == "cursed":
            raise ZeroDivisionError("in the middle of a transaction")
        return real(federation, device, *rest)

    monkeypatch.setattr(merging, "addressed", fails_on_one)
    for i, device in enumerate(("a", "cursed", "b")):
        aggregator.take(topic(TASK, device), report(TASK, device, i))
    assert len(aggregator.commit(1.0)) == 2
    assert aggregator.store.totals(1, "final").devices == 2
    assert aggregator.waiting == 0
    (kept,) = aggregator.store.refused(9)  # what is acknowledged is somewhere
    assert (kept.device, kept.reason) == ("cursed", "internal error")
    assert kept.raw == report(TASK, "cursed", 1)
    assert aggregator.verdicts["test", "internal error"] == 1
    aggregator.take(topic(TASK, "c"), report(TASK, "c", 7))
    aggregator.commit(2.0)
    assert aggregator.store.totals(1, "final").devices == 3


def test_what_can_be_kept_nowhere_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither counted nor refused: it waits, and the others are not counted twice."""
    aggregator = started(tmp_path / "s.db", TASK)
    with monkeypatch.context() as broken:
        real = merging.addressed
        broken.setattr(
            merging,
            "addressed",
            lambda f, device, *rest: 1 / 0 if device == "cursed" else real(f, device, *rest),
        )
        broken.setattr(aggregator.store, "refuse", lambda rows: [][0])
        for i, device in enumerate(("a", "cursed", "b")):
            aggregator.take(topic(TASK, device), report(TASK, device, i))
        with pytest.raises(StoreBusyError, match=r"neither counted nor refused \(IndexError"):
            aggregator.commit(1.0)
        assert aggregator.waiting == 3
    assert len(aggregator.commit(2.0)) == 3
    assert aggregator.waiting == 0
    assert aggregator.store.totals(1, "final").devices == 3
    assert aggregator.verdicts["test", "counted"] == 3
    assert list(aggregator.store.refused(9)) == []


def test_sums_at_the_end_of_64_bits_refuse_and_do_not_wrap_round(tmp_path: Path) -> None:
    aggregator = started(tmp_path / "s.db", TASK)
    verdict_of(aggregator, topic(TASK, "a"), report(TASK, "a", 1))
    raw = report(TASK, "b", 2)
    values = aggregator.federations["test"].values(raw)
    full = np.where(values >= 0, 2**62, -(2**62)).astype("<i8")
    row = replace(aggregator.store.totals(1, "final"), values=full.tobytes())
    with aggregator.store.transaction():
        aggregator.store.put_totals(1, "final", row)
    verdict = verdict_of(aggregator, topic(TASK, "b"), raw)
    assert verdict.status == "refused"
    assert verdict.reason.startswith("full: ")
    assert aggregator.store.totals(1, "final") == row


def test_a_task_that_was_begun_in_version_1_ends_in_it(tmp_path: Path) -> None:
    """Its file says no version: read today it would be another task, and nobody's."""
    first = replace(TASK, version=1)
    begun = started(tmp_path / "a.db", first)
    for told, meant in ((TASK, first), (replace(TASK, epoch=2), replace(TASK, epoch=2))):
        assert core.Aggregator(begun.store, [told]).federations[TASK.name].task == meant
    assert started(tmp_path / "b.db", TASK).federations[TASK.name].task.version == 2
