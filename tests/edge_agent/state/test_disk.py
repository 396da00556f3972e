"""A full disk, or one that denies a commit which has happened: nothing is spent twice or lost."""

from __future__ import annotations

import itertools
from contextlib import contextmanager, suppress

import pytest

from edge_agent.agent import Phase
from edge_agent.errors import StorageError
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, active, data, receipt, records, reports, simulated
from tests.fsir.tasks import screened, task


def limit_pages(state: State, more: int) -> None:
    """Let the file grow by so many pages only; SQLite then says that the disk is full."""
    db = state._db._db
    (count,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {count + more}").fetchall()


@pytest.mark.parametrize("rule", [None, "same", "fresh"])
def test_a_full_disk_spends_nothing_and_goes_on_when_there_is_room(tmp_path, rule, caplog):
    wide = task(300) if rule is None else screened(2000, records=rule)
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(wide, state=state)
    limit_pages(state, 0)
    agent.learn_many(*data(wide, 100))
    with pytest.raises(StorageError, match="full"):
        agent.checkpoint()
    assert agent.outgoing(1.0) == []
    assert not state.ledger()
    assert not state.outbox()
    assert "full" in caplog.text
    due = agent.next_due(1.0)
    assert due is not None
    limit_pages(state, 1000)
    (first,) = reports(agent.outgoing(due))
    assert first.n == 100
    if rule is not None:
        limit_pages(state, -1000)
        agent.receive(*active(wide, "x1", "x2"))
        assert len(state.ledger()) == 1
        limit_pages(state, 1000)
        again = agent.next_due(due + 1.0)
        assert again is not None
        agent.outgoing(again + 10.0)
        assert agent.active == ("x1", "x2")
    state.close()


def test_a_receipt_that_cannot_be_stored_is_read_again(tmp_path):
    plain = task()
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(plain, state=state)
    agent.learn_many(*data(plain, 100))
    answer = receipt(plain, agent.outgoing(1.0))
    state._db._db.execute("PRAGMA query_only = ON")
    agent.receive(*answer)
    assert agent.pending == 1
    state._db._db.execute("PRAGMA query_only = OFF")
    agent.outgoing(100.0)
    assert agent.pending == 0
    assert agent.phase is Phase.SERVING
    state.close()


def test_a_commit_that_was_denied_but_happened_is_adopted(tmp_path, monkeypatch):
    """The disk fails after the commit: the report on it is the one, no second noise is drawn."""
    plain = task()
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(plain, state=state)
    agent.learn_many(*data(plain, 100))
    real = state.record_report

    def treacherous(*args, **options):
        real(*args, **options)
        raise StorageError("the disk went away after the commit")

    monkeypatch.setattr(state, "record_report", treacherous)
    assert agent.outgoing(1.0) == []
    (stored,) = state.outbox()
    monkeypatch.setattr(state, "record_report", real)
    (message,) = agent.outgoing(100.0)
    assert message.payload == stored.payload
    state.close()


def deny(state, monkeypatch, which):
    """Every commit happens, and the disk denies those whose number is in `which`.

    Returns the number so far.
    """
    commits = itertools.count()
    real = state._db.transaction

    @contextmanager
    def transaction():
        with real():
            yield
        if next(commits) in which:
            raise StorageError("the disk went away after the commit")

    monkeypatch.setattr(state._db, "transaction", transaction)
    return commits


def two_reports(two, state, early):
    """Both reports of a device that saves often, and goes on whatever its disk says."""
    agent = simulated(two, state=state)
    now = itertools.count(1.0, 100.0)
    sent = []

    def go_on(times=1):
        for _ in range(times):
            with suppress(StorageError):
                agent.checkpoint()
            sent.extend(agent.outgoing(next(now)))

    def learn(amount, start=0):
        for record in records(two, amount, start):
            agent.learn(record)
            if record.position.ordinal % 30 == 29:
                go_on()
        go_on(4)

    go_on(4)
    learn(early)
    agent.receive(*active(two, "x1", "x4"))
    go_on(4)
    learn(200 - early, start=early)
    return {message.payload for message in sent}


@pytest.mark.usefixtures("either_state")
@pytest.mark.parametrize(("rule", "early"), [("same", 100), ("fresh", 100), ("same", 60)])
def test_a_denied_commit_that_happened_changes_no_report(rule, early, monkeypatch):
    """The active set comes after the first report, or before it.

    In that case the second report is all there is.
    """
    two = screened(records=rule)
    state = State(None, DEVICE, simulated=True)
    commits = deny(state, monkeypatch, ())
    undisturbed = two_reports(two, state, early)
    stages = ["screening", "final"] if early == 100 else ["final"]
    assert len(undisturbed) == len(stages)
    number = next(commits)
    for which in [(k,) for k in range(number)] + [range(k, k + 3) for k in range(number)]:
        state = State(None, DEVICE, simulated=True)
        deny(state, monkeypatch, which)
        assert two_reports(two, state, early) == undisturbed, which
        assert [(row.stage, row.n) for row in state.ledger()] == [(stage, 100) for stage in stages]


@pytest.mark.usefixtures("either_state")
def test_a_disk_that_takes_no_active_set_costs_no_record(monkeypatch):
    two = screened(records="same")
    agent = simulated(two)
    real = agent.state.pin_active

    def full(*_):
        raise StorageError("the disk is full")

    monkeypatch.setattr(agent.state, "pin_active", full)
    for record in records(two, 40):
        agent.learn(record)
    agent.receive(*active(two, "x1", "x4"))
    for record in records(two, 60, start=40):
        agent.learn(record)
    assert (agent.n, agent.refused) == (100, {})
    monkeypatch.setattr(agent.state, "pin_active", real)
    sent = agent.outgoing(1.0)
    assert [(r.stage, r.n) for r in reports(sent)] == [("final", 100)]


@pytest.mark.usefixtures("either_state")
def test_a_task_that_was_pinned_although_the_disk_denied_it_is_the_one(monkeypatch):
    first = task()
    second = task(epoch=2)
    state = State(None, DEVICE, simulated=True)
    deny(state, monkeypatch, (0,))
    agent = simulated(first, state=state)
    assert agent.task is None
    agent.receive("fsir/1/test/task", second.encode())
    assert agent.task is not None
    assert agent.task.digest == first.digest
