"""A store of version 0.1 is understood and continued, and is made the same today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.core import Aggregator
from aggregator.results.gathering import gather
from aggregator.rounds.recount import recount
from aggregator.store.opening import open_store
from fsir.estimate.subspace import estimate
from fsir.wire.decode import decode
from fsir.wire.messages import Ask, Receipt, Subspace, encode, topic
from tests.golden.federation.stores import (
    GONE,
    LATER,
    RECEIPTS,
    WITHDRAWN,
    announced,
    receipts,
    started,
    without,
)
from tests.golden.federation.tasks import SERVED
from tests.golden.files import (
    STORE,
    STORE_FILE,
    Message,
    copy_store,
    dump,
    of_kind,
    read_messages,
    same_subspace,
    wire_of,
)

# What stores of today remember beside: versions, and how often somebody was withdrawn.
BESIDE = ('INSERT INTO "version" ', 'INSERT INTO "setting" VALUES(\'decisions:')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A copy of the golden store."""
    return copy_store(tmp_path / STORE_FILE)


@pytest.fixture
def aggregator(path: Path) -> Iterator[Aggregator]:
    """An aggregator that was started on the copy."""
    with started(path) as (found, _):
        yield found


def newest(task: str) -> bytes:
    """The golden subspace of a task that was published last."""
    return of_kind(wire_of(task), "subspace")[-1].payload


def test_a_store_is_made_the_same_today(played, path: Path) -> None:
    """The tables and their rows are the golden ones, subspaces up to the last bits.

    A daemon that serves from the golden store adds the tables that came later; nothing is in them.
    One that has made the store itself remembers its versions.
    """
    open_store(f"sqlite:{path}").close()
    made_today = map(str, dump(played.folder / STORE_FILE))
    text = "\n".join(line for line in made_today if not line.startswith(BESIDE))
    for task in SERVED:
        made = [message.payload for message in played.wire if message.task == task.name]
        made = [payload for payload in made if same_subspace_of(task.name, payload)]
        text = text.replace(made[-1].hex().upper(), newest(task.name).hex().upper())
    assert text.split("\n") == "\n".join(map(str, dump(path))).split("\n")


def same_subspace_of(task: str, payload: bytes) -> bool:
    """Whether this is the newest subspace of a task, or any other message."""
    return b"singular_values" in payload and same_subspace(payload, newest(task))


def test_an_aggregator_starts_with_the_same_messages(path: Path) -> None:
    """Task, active set and newest subspace are repeated as they were on the wire, in this order."""
    wanted: list[Message] = []
    for task in SERVED:
        last = {message.kind: message for message in wire_of(task.name)}
        wanted += [last[kind] for kind in ("task", "active", "subspace") if kind in last]
    assert announced(path) == wanted


def test_an_aggregator_repeats_the_same_receipts(path: Path) -> None:
    """Everybody who was counted and has stayed hears it again."""
    assert receipts(path) == read_messages(STORE / RECEIPTS)


def test_a_daemon_of_today_repeats_the_same_receipts_beside_a_task_whose_devices_ask(
    path: Path,
) -> None:
    """It takes the store over, and what devices of 0.1 read stays the same to the byte."""
    new = replace(SERVED[0], name="new", version=2)
    store = open_store(f"sqlite:{path}")
    aggregator = Aggregator(store, [*SERVED, new])
    aggregator.start(LATER)
    about = topic("new", "ask", "dev-1")
    aggregator.take(about, encode(Ask(new.digest, "dev-1", b"n" * 16)))
    (answer,) = aggregator.commit(LATER)
    assert decode(answer.payload, Receipt).instance == b"n" * 16
    repeated = [Message(*found[:2]) for found in aggregator.receipts()]
    assert repeated == read_messages(STORE / RECEIPTS)
    store.close()


def test_a_store_is_not_changed_by_being_opened(path: Path) -> None:
    """Whoever starts an aggregator and stops it finds the same content."""
    before = dump(path)
    announced(path)
    receipts(path)
    assert dump(path) == before


def test_the_stored_reports_are_those_of_the_wire(aggregator: Aggregator) -> None:
    """Every counted report is kept as it came, those of withdrawn devices without their bytes."""
    for federation in aggregator.federations.values():
        rows = list(aggregator.store.reports(federation.key))
        sent = {message.payload for message in of_kind(wire_of(federation.name), "report")}
        barred = aggregator.store.withdrawn(federation.key)
        assert {row.raw for row in rows if row.device not in barred} <= sent
        assert all(row.raw is None for row in rows if row.device in barred)
        assert len(rows) == len(sent)


def test_the_totals_are_what_the_reports_add_up_to(aggregator: Aggregator) -> None:
    """The cache of every stage is exact."""
    for federation in aggregator.federations.values():
        for stage in federation.layouts:
            again = recount(aggregator.store, federation, stage)
            cached = aggregator.store.totals(federation.key, stage)
            assert (again.devices, again.records) == (cached.devices, cached.records)
            assert again.values == cached.values


def test_the_totals_give_the_same_subspaces(aggregator: Aggregator) -> None:
    """Exact and trimmed sums are estimated from as they were."""
    for federation in aggregator.federations.values():
        known = decode(newest(federation.name), Subspace)
        assert isinstance(known, Subspace)
        totals = gather(aggregator.store, federation)
        found = estimate(
            federation.task,
            totals,
            version=known.version,
            refused=known.refused,
        )
        assert same_subspace(encode(found), newest(federation.name))


def test_what_was_counted_is_not_counted_again(aggregator: Aggregator, path: Path) -> None:
    """All golden reports come once more: those who stayed get `duplicate`, and no row changes."""
    before = dump(path)
    reports = [message for task in SERVED for message in of_kind(wire_of(task.name), "report")]
    stayed = [message for message in reports if not message.topic.endswith("dev-5")]
    for message in stayed:
        aggregator.take(message.topic, message.payload)
    answers = [decode(found.payload, Receipt) for found in aggregator.commit(LATER)]
    assert len(answers) == len(stayed)
    for answer in answers:
        assert isinstance(answer, Receipt)
        assert "duplicate" in {verdict.status for verdict in answer.verdicts.values()}
    assert dump(path) == before


def test_a_withdrawal_gives_the_same_subspaces(path: Path) -> None:
    """One more device leaves: it is subtracted exactly, and every task is estimated anew."""
    found = without(path, GONE)
    wanted = read_messages(STORE / WITHDRAWN)
    assert [message.topic for message in found] == [message.topic for message in wanted]
    assert all(map(_same, found, wanted))


def _same(found: Message, wanted: Message) -> bool:
    return same_subspace(found.payload, wanted.payload)
