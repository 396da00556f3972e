"""The state file: private, for one agent, all or nothing."""

from __future__ import annotations

import os
import sqlite3
import stat

import numpy as np
import pytest

from edge_agent.agent import Agent, Feed, Phase
from edge_agent.errors import StateError, StorageError
from edge_agent.records import Position, Record
from edge_agent.state.database import FILE
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, active, data, receipt, records, reports, simulated
from tests.fsir.tasks import screened, task


def test_only_the_owner_can_read_it(tmp_path):
    before = os.umask(0)
    try:
        State(tmp_path / "state", DEVICE).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state" / FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_one_file_and_nothing_beside_it(tmp_path):
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(task(), state=state)
    agent.learn_many(*data(task(), 100))
    agent.outgoing(1.0)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    state.close()


def test_a_second_agent_on_the_directory_is_stopped(tmp_path):
    state = State(tmp_path, DEVICE)
    with pytest.raises(StateError, match="another agent is using"):
        State(tmp_path, DEVICE)
    looking = State(tmp_path, None, read_only=True)  # to look at it is fine
    assert looking.device == DEVICE
    looking.close()
    state.close()
    State(tmp_path, DEVICE).close()


def test_whoever_looks_sees_the_last_commit_also_behind_an_agent_that_died_while_writing(tmp_path):
    (tmp_path / "dead").mkdir()
    state = State(tmp_path / "live", DEVICE)
    state.note("a", "committed")
    state._db._db.execute("PRAGMA cache_size = 1")  # so that an open transaction reaches the disk
    state._db._db.execute("BEGIN IMMEDIATE")
    for k in range(200):
        state._db._db.execute("INSERT INTO meta VALUES (?, ?)", (f"k{k}", b"x" * 4000))
    for file in (tmp_path / "live").iterdir():
        (tmp_path / "dead" / file.name).write_bytes(file.read_bytes())
    assert len(list((tmp_path / "dead").iterdir())) == 2  # a journal, and nobody who holds the lock
    state._db._db.execute("ROLLBACK")
    state.close()
    looking = State(tmp_path / "dead", None, read_only=True)
    assert looking.notes() == {"a": "committed"}
    with pytest.raises(StorageError, match="readonly"):
        looking.note("b", "not by whoever looks")
    looking.close()


def test_a_directory_belongs_to_one_device_and_kind(tmp_path):
    State(tmp_path / "real", DEVICE).close()
    State(tmp_path / "sim", DEVICE, simulated=True).close()
    with pytest.raises(StateError, match="belongs to device"):
        State(tmp_path / "real", "dev-2")
    with pytest.raises(StateError, match="made by a simulated agent"):
        State(tmp_path / "sim", DEVICE)
    with pytest.raises(StateError, match="made by a real agent"):
        State(tmp_path / "real", DEVICE, simulated=True)


def test_files_that_are_not_a_state(tmp_path):
    (tmp_path / FILE).write_bytes(b"not a database, but long enough to look like one" * 50)
    with pytest.raises(StateError, match="another"):
        State(tmp_path, DEVICE)
    with pytest.raises(StateError, match="no state file"):
        State(tmp_path / "nothing", None, read_only=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="state directory"):
        State(tmp_path / "file" / "below", DEVICE)
    newer = sqlite3.connect(tmp_path / "newer.sqlite")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer.sqlite").rename(tmp_path / "newer" / FILE)
    with pytest.raises(StateError, match="version 99"):
        State(tmp_path / "newer", DEVICE)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / FILE).touch()
    with pytest.raises(StateError, match="is not the state of an agent"):
        State(tmp_path / "empty", None, read_only=True)
    (tmp_path / "folder" / FILE).mkdir(parents=True)
    with pytest.raises(StateError, match="check its owner"):
        State(tmp_path / "folder", None, read_only=True)


def test_a_damaged_state_is_called_that_and_no_full_disk(tmp_path):
    State(tmp_path, DEVICE).close()
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:5000])
    with pytest.raises(
        StateError, match="damaged, and the ledger with it: go on with a new directory"
    ) as caught:
        State(tmp_path, None, read_only=True)
    assert "Make room" not in str(caught.value)


@pytest.mark.usefixtures("either_state")
def test_a_transaction_that_fails_leaves_nothing():
    plain = task()
    agent = simulated(plain)
    agent.learn_many(*data(plain, 100))
    agent.outgoing(1.0)
    (row,) = agent.state.ledger()
    (out,) = agent.state.outbox()
    with pytest.raises(StateError, match="already"):
        agent.state.record_report(row, out, agent.state.progress("test"), drop_kept=True)
    assert len(agent.state.ledger()) == len(agent.state.outbox()) == 1


def test_forgetting_overwrites_the_records_and_keeps_the_ledger(tmp_path):
    two = screened(6, records="same")
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(two, state=state)
    for record in records(two, 100):
        agent.learn(record)
    agent.outgoing(1.0)
    K, _ = next(state.kept("test", 6))
    secret = K.tobytes()[:400]
    assert secret in (tmp_path / FILE).read_bytes()
    state.forget("test")
    assert secret not in (tmp_path / FILE).read_bytes()
    assert len(state.ledger()) == 1
    again = simulated(two, state=state)
    assert again.phase is Phase.STOPPED
    assert "forgotten" in again.reason
    state.close()


def test_the_second_report_overwrites_the_kept_records(tmp_path):
    two = screened(6, records="same")
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(two, state=state)
    agent.learn_many(*data(two, 100))
    agent.outgoing(1.0)
    ((K, _),) = state.kept("test", 6)
    secret = K.tobytes()[:400]
    agent.receive(*active(two, "x1", "x2"))
    agent.outgoing(2.0)
    assert secret not in (tmp_path / FILE).read_bytes()
    state.close()


@pytest.mark.usefixtures("either_state")
def test_forgotten_records_are_not_read_again():
    plain = task()
    agent = simulated(plain)
    for record in records(plain, 40):
        agent.learn(record)
    agent.checkpoint()
    agent.state.forget("test")
    again = simulated(plain, state=agent.state)
    assert again.n == 0
    assert again.position.ordinal == 39


@pytest.mark.usefixtures("either_state")
def test_unpinning_needs_an_empty_outbox_and_the_ledger_remembers():
    plain = task()
    agent = simulated(plain)
    agent.learn_many(*data(plain, 100))
    sent = agent.outgoing(1.0)
    with pytest.raises(StateError, match="without a receipt"):
        agent.state.forget("test", unpin=True)
    agent.receive(*receipt(plain, sent))
    agent.state.forget("test", unpin=True)
    assert simulated(plain, state=agent.state).phase is Phase.SERVING, (
        "the same task has been reported already"
    )
    agent.state.forget("test", unpin=True)
    greedy = simulated(task(privacy={"epsilon": 1.9}), state=agent.state)
    greedy.learn_many(*data(plain, 100))
    assert (
        "spent" in simulated(task(name="third", privacy={"epsilon": 1.9}), state=agent.state).reason
    )


@pytest.mark.usefixtures("either_state")
def test_another_source_in_the_middle_of_a_task_is_refused(tmp_path):
    plain = task()
    state = State(None, DEVICE, simulated=True)
    agent = simulated(plain, state=state, feed=Feed("csv:/a"))
    agent.learn_many(*data(plain, 10))
    agent.checkpoint()
    with pytest.raises(StateError, match="csv:/b may hold the same records"):
        Agent(state, "test", simulated=True, feed=Feed("csv:/b"))
    agent.learn_many(*data(plain, 90))
    agent.outgoing(1.0)
    assert Agent(state, "test", simulated=True, feed=Feed("csv:/b")).phase is Phase.REPORTED


@pytest.mark.usefixtures("either_state")
def test_fresh_records_of_a_sensor_have_their_own_budget_but_another_pipe_has_not():
    state = State(None, DEVICE, simulated=True)

    def take_part(name, feed, first):
        full = task(name=name, privacy={"epsilon": 2.0})
        agent = simulated(full, state=state, feed=feed)
        agent.learn_many(*data(full, 100), first=first)
        return len(reports(agent.outgoing(1.0)))

    sensor = Feed("mqtt:kitchen", replayable=False)
    assert take_part("one", sensor, 0) == 1
    assert take_part("two", sensor, 100) == 1
    assert take_part("three", Feed("jsonl:-", replayable=False, stream="jsonl:-#1"), 0) == 0


def test_progress_and_position_commit_together(tmp_path):
    plain = task()
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(plain, state=state)
    agent.learn(Record(Position(0, [0, 9, 77]), {"x0": 1.0, "x1": 0.0, "x2": 0.0, "y": "a"}))
    agent.checkpoint()
    agent.learn(Record(Position(1, [9, 18, 78]), {"x0": 1.0, "x1": 0.0, "x2": 0.0, "y": "a"}))
    state.close()
    state = State(tmp_path, DEVICE, simulated=True)
    again = simulated(plain, state=state)
    assert (again.n, again.position) == (1, Position(0, [0, 9, 77]))
    assert state.last_position("memory") == Position(0, [0, 9, 77])
    state.close()


def test_in_memory_states_are_small_enough_for_thousands():
    states = [State(None, f"dev-{k}", simulated=True) for k in range(200)]
    assert len({state.device for state in states}) == 200
    assert np.all([not state.ledger() for state in states])
    for state in states:
        state.close()
