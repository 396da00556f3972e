"""Full disks: the device says so, spends nothing and goes on when there is room.

The aggregator acknowledges nothing. The limit is on the size of files (RLIMIT_FSIZE), set on the
running process from outside, as somebody would who fills the disk, and lifted as somebody who makes
room.
"""

from __future__ import annotations

import json
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w

from edge_agent.state.state import State
from tests.system.faults.setup import Setup
from tests.system.faults.world import World
from tests.system.harness.brokers import Mosquitto
from tests.system.harness.forkserver import Child
from tests.system.harness.one_hot import Federation

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]


def until(true: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def limit(child: Child, size: int | None) -> None:
    """So many bytes per file from now on; None: as many as it likes."""
    wanted = resource.RLIM_INFINITY if size is None else size
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (wanted, resource.RLIM_INFINITY))


def write_source(path: Path, federation: Federation, first: int, stop: int) -> None:
    with path.open("a") as file:
        for ordinal in range(first, stop):
            record = federation.record(0, ordinal)
            file.write(json.dumps(record.x) + "\n")


def start_agent(forkserver, federation: Federation, url: str, directory: Path) -> Child:
    (directory / "policy.toml").write_text('epsilon = 1000.0\nunproven = ["none"]\n')
    options = {
        "--broker": url,
        "--task": "one-hot",
        "--device": "device-0",
        "--source": f"jsonl:{directory / 'source.jsonl'}",
        "--state": str(directory / "state"),
        "--policy": str(directory / "policy.toml"),
        "--output": str(directory / "served"),
        "--save-every": "0.1",
    }
    arguments = ["run", "--follow", "--once", *(part for pair in options.items() for part in pair)]
    return forkserver.start("agent", directory / "agent.log", arguments=arguments)


def books(directory: Path) -> State:
    return State(directory / "state", None, read_only=True)


def test_a_device_with_a_full_disk_says_so_spends_nothing_and_goes_on(tmp_path, forkserver):
    federation = Federation(devices=1, stock=60, records=60)
    (tmp_path / "task.toml").write_text(tomli_w.dumps(federation.task().table()))
    with Mosquitto("debian") as broker:
        broker.start("mosquitto")
        server = forkserver.start(
            "serve",
            tmp_path / "aggregator.log",
            task=[str(tmp_path / "task.toml")],
            url=broker.url,
            store=str(tmp_path / "store.db"),
        )
        write_source(tmp_path / "source.jsonl", federation, 0, 10)
        agent = start_agent(forkserver, federation, broker.url, tmp_path)
        until(lambda: "first record learned" in agent.said(), "the agent does not start")
        until(lambda: _saved(tmp_path) == 9, "the agent does not save")
        limit(agent, 8192)
        write_source(tmp_path / "source.jsonl", federation, 10, 60)
        until(lambda: "Make room" in agent.said(), f"not a word about the disk: {agent.said()}")
        time.sleep(0.5)
        assert agent.poll() is None
        state = books(tmp_path)
        assert (state.ledger(), state.outbox()) == ([], [])
        state.close()
        limit(agent, None)
        assert agent.wait(30) == 0, agent.said()
        state = books(tmp_path)
        (row,) = state.ledger()
        state.close()
        assert (row.verdict, row.n, row.first, row.last) == ("counted", 60, 0, 59)
        server.kill(signal.SIGTERM)


def _saved(directory: Path) -> int:
    state = books(directory)
    try:
        return max((state.progress(pin.name).position.ordinal for pin in state.pins()), default=-1)
    finally:
        state.close()


@pytest.mark.parametrize("end", ["room", "power cut"])
def test_an_aggregator_with_a_full_disk_acknowledges_nothing_and_counts_all_in_the_end(
    end, tmp_path, forkserver
):
    setup = Setup(federation=Federation(devices=5, stock=2, records=2))
    world = World(setup, tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        child = world.aggregator
        limit(child, 1024)
        for device in world.devices:
            device.appetite = 2
        deadline = time.monotonic() + 30
        while "the store cannot be written" not in child.said():
            assert time.monotonic() < deadline, child.said()
            world.turn(0.05)
        world.turn(0.5)
        assert child.poll() is None
        assert not any(device.settled for device in world.devices)
        assert world.counted() == 0
        if end == "room":
            limit(child, None)
        else:
            child.kill()
        assert world.finish() == []
        assert world.counted() == len(world.devices)
    finally:
        world.close()
