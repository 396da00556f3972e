"""Whatever the order, the batches, the crashes and the workers: the same integers and bits."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aggregator import merging
from aggregator.core import Aggregator
from aggregator.rounds.recount import agrees
from aggregator.store.errors import StoreBusyError
from aggregator.store.sqlite import SqliteStore
from fsir.contract import task_from_table
from fsir.privacy.plan import final_stage
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, Subspace
from fsir.wire.messages import topic as topic_of
from tests.aggregator.batches import started, subspace_of, verdict_of
from tests.aggregator.federations import make_task, report, screening_task, topic

DEVICES = 8
PLAIN = make_task(p=3, records=60)
SCREENED = screening_task(quorum=DEVICES, p=5)
VOTED = screening_task("votes", quorum=DEVICES, p=5)
TRIMMED = make_task(p=3, records=60, aggregation="trimmed")
TRIMMED_TWICE = task_from_table(SCREENED.table() | {"aggregation": "trimmed"})
KINDS = {
    "plain": PLAIN,
    "screened": SCREENED,
    "voted": VOTED,
    "trimmed": TRIMMED,
    "trimmed twice": TRIMMED_TWICE,
}


@cache
def first_reports(task: Task) -> list[tuple[str, bytes]]:
    return [(topic(task, f"d{i}"), report(task, f"d{i}", i)) for i in range(DEVICES)]


@cache
def final_reports(task: Task, features: tuple[int, ...]) -> list[tuple[str, bytes]]:
    stage = final_stage(task, features)
    return [(topic(task, f"d{i}"), report(task, f"d{i}", 100 + i, stage)) for i in range(DEVICES)]


class Federation:
    """Some workers on one store; any of them may be killed and started again."""

    def __init__(self, path: Path, task: Task, workers: int) -> None:
        self.path = path
        self.task = task
        self.workers = [self.start(i) for i in range(workers)]
        self.published: dict[str, bytes] = {}

    def start(self, number: int) -> Aggregator:
        worker = Aggregator(SqliteStore(self.path), [self.task], debounce=0.0)
        worker.start(0.0)
        return worker

    def kill(self, number: int) -> None:
        """What was taken and not committed is gone; a new process opens the same file."""
        self.workers[number].store.close()
        self.workers[number] = self.start(number)

    def commit(self, number: int) -> None:
        for publication in self.workers[number].commit(1.0):
            self.published[publication.topic] = publication.payload

    def run(
        self, reports: Sequence[tuple[str, bytes]], schedule: Sequence[tuple[int, str]]
    ) -> None:
        """Deliver, commit and kill as the schedule says.

        Then each report again until it is counted, as devices do.
        """
        workers = len(self.workers)
        for number, what in schedule:
            if what == "commit":
                self.commit(number % workers)
            elif what == "kill":
                self.kill(number % workers)
            else:
                self.workers[number % workers].take(*reports[int(what) % len(reports)])
        for number, (about, raw) in enumerate(reports):
            self.workers[number % workers].take(about, raw)
        for number in range(workers):
            self.commit(number)

    def subspace(self) -> Subspace:
        for worker in self.workers:
            for publication in worker.estimate(2.0):
                self.published[publication.topic] = publication.payload
        return decode(self.published[topic_of(self.task.name, "subspace")], Subspace)

    def close(self) -> None:
        for worker in self.workers:
            worker.store.close()


def reference(task: Task, path: Path) -> tuple[dict[str, bytes], Subspace, tuple[int, ...]]:
    """Everything in order, once, by one worker."""
    federation = Federation(path, task, 1)
    federation.run(first_reports(task), [])
    worker = federation.workers[0]
    features: tuple[int, ...] = ()
    if task.screening is not None:
        worker.jobs(1.0)
        features = worker.federations[task.name].layouts["final"].stage.features
        federation.run(final_reports(task, features), [])
    values = {
        stage: worker.store.totals(1, stage).values
        for stage in worker.federations[task.name].layouts
    }
    subspace = federation.subspace()
    federation.close()
    return values, subspace, features


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("references")
    return {key: reference(task, folder / f"{key}.db") for key, task in KINDS.items()}


fresh = count()
steps = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["commit", "kill", *map(str, range(DEVICES))])),
    max_size=40,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(workers=st.integers(1, 3), first=steps, second=steps)
def test_any_schedule_gives_the_same_bits(
    kind: str,
    tmp_path: Path,
    references: dict[str, Any],
    workers: int,
    first: list[Any],
    second: list[Any],
) -> None:
    task = KINDS[kind]
    values, subspace, features = references[kind]
    federation = Federation(tmp_path / f"{next(fresh)}.db", task, workers)
    federation.run(first_reports(task), first)
    if features:
        federation.run(final_reports(task, features), second)
    worker = federation.workers[0]
    store = worker.store
    made = worker.federations[task.name]
    worker.jobs(1.0)
    assert {stage: store.totals(1, stage).values for stage in made.layouts} == values
    assert all(agrees(store, made, stage) for stage in made.layouts)
    again = federation.subspace()
    assert again.basis.tobytes() == subspace.basis.tobytes()
    assert again.devices == subspace.devices
    assert again.records == subspace.records
    assert again.expected_error == subspace.expected_error
    # Every device has in the end been told that it is counted.
    for device in range(DEVICES):
        answer = federation.published[topic_of(task.name, "receipt", f"d{device}")]
        verdicts = decode(answer, Receipt).verdicts
        assert {verdict.status for verdict in verdicts.values()} <= {"counted", "duplicate"}
        assert set(verdicts) == set(made.layouts)
    federation.close()


@pytest.mark.parametrize("task", [PLAIN, TRIMMED], ids=["sum", "trimmed"])
def test_a_withdrawn_device_leaves_no_trace_in_the_bits(tmp_path: Path, task: Task) -> None:
    with_it = Aggregator(SqliteStore(tmp_path / "a.db"), [task], debounce=0.0)
    without = Aggregator(SqliteStore(tmp_path / "b.db"), [task], debounce=0.0)
    for made in (with_it, without):
        made.start(0.0)
        for i, (about, raw) in enumerate(first_reports(task)):
            if i != 3 or made is with_it:
                made.take(about, raw)
        made.commit(1.0)
    first = subspace_of(with_it.estimate(2.0))
    assert with_it.withdraw("d3", 3.0) == 1
    assert with_it.withdraw("d3", 3.0) == 0  # again does nothing
    again = subspace_of(with_it.estimate(4.0))
    pure = subspace_of(without.estimate(4.0))
    assert again.basis.tobytes() == pure.basis.tobytes() != first.basis.tobytes()
    assert (again.version, again.devices) == (2, DEVICES - 1)
    assert with_it.store.totals(1, "final").values == without.store.totals(1, "final").values
    assert all(row.raw is None for row in with_it.store.reports(1) if row.device == "d3")
    # It cannot come back, not even with the same bytes.
    verdict = verdict_of(with_it, *first_reports(task)[3], 5.0)
    assert verdict.reason.startswith("withdrawn")
    with_it.take(first_reports(task)[3][0], b"garbage")
    with_it.commit(6.0)
    assert [(row.reason, row.raw) for row in with_it.store.refused(10)] == [
        ("malformed", b""),
        ("withdrawn", b""),
    ]
    assert agrees(with_it.store, with_it.federations["test"], "final")


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    mistakes=st.lists(
        st.tuples(st.integers(0, DEVICES - 1), st.sampled_from(["withdraw", "readmit", "send"])),
        max_size=12,
    )
)
def test_a_withdrawal_that_was_undone_leaves_the_bits_of_one_that_never_was(
    kind: str, tmp_path: Path, references: dict[str, Any], mistakes: list[tuple[int, str]]
) -> None:
    """Whoever was taken out and let in again counts with the same bytes, once, and no others."""
    task = KINDS[kind]
    values, _, features = references[kind]
    made = started(tmp_path / f"{next(fresh)}.db", task)
    federation = made.federations[task.name]
    sent = first_reports(task)
    if features:
        for about, raw in sent:
            made.take(about, raw)
        made.commit(1.0)
        made.jobs(1.0)
        sent = final_reports(task, features)
    for about, raw in sent:
        made.take(about, raw)
    made.commit(2.0)
    for number, what in mistakes:
        device = f"d{number}"
        if what == "withdraw":
            made.withdraw(device, 3.0)
        elif what == "readmit":
            merging.readmit(made.store, federation, device)
        else:
            made.take(*sent[number])
            made.commit(4.0)
    for number in range(DEVICES):
        merging.readmit(made.store, federation, f"d{number}")
        assert merging.readmit(made.store, federation, f"d{number}") is None  # again does nothing
    for about, raw in [*first_reports(task), *sent] * 2:
        made.take(about, raw)
    made.commit(5.0)
    assert {stage: made.store.totals(1, stage).values for stage in federation.layouts} == values
    assert all(agrees(made.store, federation, stage) for stage in federation.layouts)
    made.store.close()


def test_a_store_that_cannot_be_written_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(tmp_path / "s.db")
    made = Aggregator(store, [PLAIN])
    made.start(0.0)
    elsewhere = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    database = store._db
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count={pages}")  # a full disk
    big = [(topic(PLAIN, f"d{i}"), report(PLAIN, f"d{i}", i)) for i in range(60)]
    for about, raw in big:
        made.take(about, raw)
    with caplog.at_level(logging.CRITICAL), pytest.raises(StoreBusyError):
        made.commit(1.0)
    assert (made.waiting, made.store.totals(1, "final").devices) == (60, 0)
    database.execute("PRAGMA max_page_count=1000000")  # room again
    assert len(made.commit(2.0)) == 60
    assert made.store.totals(1, "final").devices == 60
    # The same when somebody else holds the lock for too long.
    database.execute("PRAGMA busy_timeout=10")
    elsewhere.execute("BEGIN IMMEDIATE")
    made.take(topic(PLAIN, "late"), report(PLAIN, "late", 99))
    with pytest.raises(StoreBusyError):
        made.commit(3.0)
    elsewhere.execute("ROLLBACK")
    assert len(made.commit(4.0)) == 1
    elsewhere.close()
