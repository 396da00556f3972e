"""A source is read again only while nothing of it was reported, and then counts once."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing

import pytest

from edge_agent.agent import Feed
from edge_agent.errors import StateError, StorageError
from edge_agent.records import START, Position
from edge_agent.state.database import FILE, Storage
from edge_agent.state.rows import HOLD
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, WILLING, data, records, reports, simulated
from tests.fsir.tasks import screened, task
from tests.golden.files import dump

SOURCE = "csv:/srv/walk.csv"
TASKS = {"plain": task, "screened": screened, "fresh": lambda: screened(records="fresh")}


def open_state(directory):
    return State(directory, DEVICE, simulated=True)


def read(state, of, n, start=0):
    """An agent that has read some records of the source, one by one, and saved."""
    agent = simulated(of, state=state, feed=Feed(SOURCE), policy=WILLING)
    for record in records(of, n, start):
        agent.learn(record)
    agent.outgoing(1.0)
    agent.checkpoint(leaving=True)
    return agent


def learned(state, of):
    """Everything that a report would be made from."""
    kept = [(K.tolist(), slices.tolist()) for K, slices in state.kept(of.name, of.p)]
    return state.progress(of.name), kept


@pytest.mark.parametrize("kind", TASKS)
def test_what_is_read_again_counts_as_if_it_were_read_once(tmp_path, kind):
    of = TASKS[kind]()
    with closing(open_state(tmp_path / "once")) as state:
        read(state, of, 70)
        once = learned(state, of)
    with closing(open_state(tmp_path / "again")) as state:
        read(state, of, 40)
        rewound = state.rewind(SOURCE)
        assert rewound == (["test"], [], 1)
        assert learned(state, of)[0].position == START
        assert learned(state, of)[1] == []
        read(state, of, 70)
        assert learned(state, of) == once
        assert state.ledger() == []


@pytest.mark.parametrize("kind", TASKS)
def test_once_something_was_reported_nothing_is_read_again(tmp_path, kind):
    """The first of two stages is a report, too, whose kept rows the second one needs."""
    of = TASKS[kind]()
    with closing(open_state(tmp_path)) as state:
        other = task(name="other", privacy={"epsilon": 0.5})
        read(state, other, 20)
        read(state, of, 120)
        stage = "final" if kind == "plain" else "screening"
        before = dump(tmp_path / FILE)
        with pytest.raises(StateError, match=f"records 0 to 99 are in the {stage} report of task"):
            state.rewind(SOURCE)
        assert dump(tmp_path / FILE) == before


def test_only_that_source_is_read_again(tmp_path):
    """A task that has gone on to another source keeps what it has learned from that one."""
    of = task()
    with closing(open_state(tmp_path)) as state:
        agent = simulated(of, state=state, feed=Feed("csv:/a"))
        agent._part.position = Position(7)  # passed by, nothing learned
        agent.checkpoint(leaving=True)
        agent = simulated(of, state=state, feed=Feed("csv:/b"))
        for record in records(of, 30):
            agent.learn(record)
        agent.checkpoint()
        kept = learned(state, of)
        assert state.rewind("csv:/a") == ([], [], 1)
        assert state.positions("csv:/a") == []
        assert learned(state, of) == kept


def test_what_was_recognised_goes_too_because_it_would_be_learned_twice(tmp_path):
    of = task()
    with closing(open_state(tmp_path)) as state:
        read(state, of, 10)
        state.keep_recognition("test", SOURCE, Position(9, [0, 5, 77]), b"learned", b"frame")
        state.keep_recognition("else", "csv:/b", Position(9), b"learned", b"frame")
        assert state.rewind(SOURCE) == (["test"], ["test"], 2)
        assert state.recognition("test") is None
        assert state.recognition_frame("test") is None
        assert state.recognised("test", SOURCE) == START
        assert state.recognition("else") == b"learned"
        assert state.recognition_frame("else") == b"frame"


@pytest.mark.parametrize("statement", range(1, 8))
def test_a_fault_in_the_middle_changes_nothing(tmp_path, statement, monkeypatch):
    of = screened()
    with closing(open_state(tmp_path)) as state:
        read(state, of, 40)
        state.keep_recognition("test", SOURCE, Position(9), b"learned")
        before = dump(tmp_path / FILE)
        calls = []
        whole = Storage.run

        def fail(self, text, *values):
            calls.append(text)
            if len(calls) == statement:
                raise StorageError("the disk is full")
            whole(self, text, *values)

        with monkeypatch.context() as patch:
            patch.setattr(Storage, "run", fail)
            try:
                state.rewind(SOURCE)
            except StorageError:
                done = "VACUUM" in calls
            else:
                done = True
        assert (dump(tmp_path / FILE) == before) != done


CRASH = """
import os, sys
from edge_agent.state.database import Storage
from edge_agent.state.rows import HOLD
from edge_agent.state.state import State
state = State(sys.argv[1], None)
state._db._db.execute("PRAGMA cache_size = 1")  # so that an open transaction reaches the disk
whole = Storage.run
def dies(self, text, *values):
    whole(self, text, *values)
    if "DELETE FROM positions" in text:
        os._exit(9)
Storage.run = dies
state.rewind(sys.argv[2])
"""


def test_a_crash_in_the_middle_leaves_the_state_as_it_was(tmp_path):
    of = screened()
    with closing(open_state(tmp_path)) as state:
        read(state, of, 99)
        before = learned(state, of)
    crashed = subprocess.run([sys.executable, "-c", CRASH, str(tmp_path), SOURCE], timeout=60)
    assert crashed.returncode == 9
    with closing(open_state(tmp_path)) as state:
        assert learned(state, of) == before
        assert state.rewind(SOURCE).learned == ["test"]


def test_every_source_of_the_state_is_known(tmp_path):
    with closing(open_state(tmp_path)) as state:
        read(state, task(), 10)
        state.keep_recognition("test", "csv:/b", Position(1), b"")
        assert state.sources() == ["csv:/b", SOURCE]
        assert json.dumps(state.sources())  # plain texts


def test_a_report_that_was_held_does_not_keep_a_mended_file_from_being_read(tmp_path):
    """The decision stays booked about these numbers of records, and adds up with what comes."""
    of = task(4, report={"records": 300})
    X, y = data(of, 300)
    feed = Feed(SOURCE)
    with closing(open_state(tmp_path)) as state:
        agent = simulated(of, state=state, feed=feed, seed=1)
        agent.learn_many(X * 1e6, y)
        assert reports(agent.outgoing(1.0)) == []
        assert agent.held
        agent.checkpoint(leaving=True)
        state.rewind(SOURCE)
        again = simulated(of, state=state, feed=feed, seed=1)
        assert not again.held
        again.learn_many(X, y)
        (report,) = reports(again.outgoing(1.0))
        assert report.n == 300
        booked = [(row.stage, row.verdict, row.first, row.last) for row in state.ledger()]
        assert booked == [(HOLD, "held", 0, 299), (HOLD, "passed", 0, 299), ("final", "", 0, 299)]
        with pytest.raises(StateError, match="are in the final report"):
            state.rewind(SOURCE)
