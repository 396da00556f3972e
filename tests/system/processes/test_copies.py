"""Copies of a state directory beside the original, on a live broker: one of them reports."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from aggregator.store.sqlite import SqliteStore
from edge_agent.loop.ending import DONE, REFUSED, TOO_FEW
from edge_agent.state.database import FILE as STATE_FILE
from edge_agent.state.state import State
from tests.system.harness.books import counted
from tests.system.harness.forkserver import Child, ForkServer
from tests.system.harness.one_hot import Federation
from tests.system.processes.fleet import Processes

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]
DEVICE = "device-0"
COPY = "copy"
REASON = "another copy of this device's state directory takes part"
RECORDS = 4
HALF = 2
FEDERATION = Federation(devices=1, stock=RECORDS, records=RECORDS, mechanism="gaussian")


@pytest.fixture(params=["mosquitto", "embedded"])
def copies(
    request: pytest.FixtureRequest, tmp_path: Path, forkserver: ForkServer
) -> Iterator[Processes]:
    """A device that has half of its records, and has been connected."""
    made = Processes(FEDERATION, tmp_path, forkserver, broker=request.param, stock=HALF)
    made.aggregator()
    first = made.agent(DEVICE)
    ended(made, first)
    assert first.poll() == TOO_FEW, first.said()
    yield made
    made.close()


def ended(processes: Processes, *agents: Child) -> None:
    """Wait until these have ended."""
    for agent in agents:
        processes.until(lambda agent=agent: agent.poll() is not None, "does not end", *agents)


def make_copy(processes: Processes) -> None:
    """As a careful backup makes it: a file that is just being written is copied as one."""
    copy = processes.directory / COPY
    copy.mkdir(mode=0o700)
    with (
        contextlib.closing(sqlite3.connect(processes.directory / DEVICE / STATE_FILE)) as original,
        contextlib.closing(sqlite3.connect(copy / STATE_FILE)) as made,
    ):
        original.backup(made)


def reports(processes: Processes) -> set[bytes]:
    """All different reports that anybody has seen."""
    (stages,) = processes.sent.values()
    return {raw for raws in stages.values() for raw in raws}


def one_report(processes: Processes) -> None:
    """One has left the copies, and was counted."""
    assert len(reports(processes)) == 1
    assert counted(processes.directory / "store.db") == 1


def test_a_copy_that_comes_after_the_original_stops(copies: Processes) -> None:
    make_copy(copies)
    copies.add_records(0, range(HALF, RECORDS))
    original = copies.agent(DEVICE)
    ended(copies, original)
    assert original.poll() == DONE, original.said()
    copy = copies.agent(DEVICE, state=COPY)
    ended(copies, copy)
    assert copy.poll() == REFUSED, copy.said()
    assert REASON in copy.said()
    again = copies.agent(DEVICE, state=COPY)
    ended(copies, again)
    assert again.poll() == REFUSED
    assert again.said().count("connected") == 1  # only before it stopped
    one_report(copies)


def test_of_two_copies_that_come_together_one_reports(copies: Processes) -> None:
    """They have one name on the broker, and push each other out until one of them stops."""
    make_copy(copies)
    copies.add_records(0, range(HALF, RECORDS))
    both = [copies.agent(DEVICE, state=state) for state in (DEVICE, COPY)]
    ended(copies, *both)
    codes = sorted(agent.poll() or 0 for agent in both)
    assert codes in ([DONE, REFUSED], [REFUSED, REFUSED]), [agent.said() for agent in both]
    assert any(REASON in agent.said() for agent in both)
    one_report(copies)


def test_a_copy_of_a_running_device_takes_over_or_stops(copies: Processes) -> None:
    copies.options = ["--follow"]
    original = copies.agent(DEVICE)
    copies.until(lambda: original.said().count("connected") == 2, "not connected", original)
    make_copy(copies)
    copy = copies.agent(DEVICE, state=COPY)
    both = (original, copy)
    copies.until(lambda: any(REASON in a.said() for a in both), "nobody stops", *both)
    (loser,) = (agent for agent in both if REASON in agent.said())
    copies.add_records(0, range(HALF, RECORDS))
    ended(copies, *both)
    assert sorted(agent.poll() or 0 for agent in both) == [DONE, REFUSED]
    assert loser.poll() == REFUSED
    assert "connected" not in loser.said().partition(REASON)[2]  # it leaves the broker to the other
    one_report(copies)


def drawn(processes: Processes) -> list[bytes]:
    """The numbers of the original, the newest first."""
    state = State(processes.directory / DEVICE, None, read_only=True)
    try:
        return state.instances(FEDERATION.name)
    finally:
        state.close()


def held(processes: Processes) -> bytes:
    """The number that the aggregator holds."""
    store = SqliteStore(processes.directory / "store.db", create=False)
    try:
        return store.instances(1, [DEVICE])[DEVICE]
    finally:
        store.close()


def test_an_aggregator_that_was_restored_stops_no_honest_device(copies: Processes) -> None:
    (server,) = (child for child in copies.children if child.poll() is None)
    server.kill(signal.SIGTERM)
    first = held(copies)
    store = copies.directory / "store.db"
    shutil.copyfile(store, copies.directory / "backup.db")
    server = copies.aggregator()
    copies.options = ["--follow"]
    for count in (2, 3, 4):
        agent = copies.agent(DEVICE)
        copies.until(lambda count=count: len(drawn(copies)) == count, "no number", agent)
        copies.until(lambda: held(copies) == drawn(copies)[0], "not held", agent)
        agent.kill(signal.SIGTERM)
    server.kill(signal.SIGTERM)
    for file in copies.directory.glob("store.db*"):
        file.unlink()
    shutil.copyfile(copies.directory / "backup.db", store)
    assert held(copies) == first == drawn(copies)[-1]
    copies.aggregator()
    copies.add_records(0, range(HALF, RECORDS))
    last = copies.agent(DEVICE)
    ended(copies, last)
    assert last.poll() == DONE, last.said()
    assert REASON not in last.said()
    one_report(copies)
