"""Two cells over one store: who comes back on the other one is known there."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edge_agent.loop.ending import DONE, REFUSED
from edge_agent.mqtt.connection import Connection
from fsir.net.broker import Broker
from fsir.wire.messages import topic
from tests.system.harness.books import counted
from tests.system.harness.brokers import Mosquitto
from tests.system.harness.forkserver import Child, ForkServer
from tests.system.harness.one_hot import Federation
from tests.system.processes.fleet import Processes

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]
FEDERATION = Federation(devices=10, stock=4, records=4, mechanism="gaussian")


class Cells:
    """A federation whose broker is the first cell's, and a second broker."""

    def __init__(self, directory: Path, server: ForkServer) -> None:
        self.first = Processes(FEDERATION, directory, server)
        self._broker = Mosquitto()
        self.other = self._broker.start("mosquitto")
        self.left: list[str] = []  # topics of reports on the second broker
        self.first.aggregator(worker="first")
        self.first.aggregator(self.other, worker="second")
        topics = [topic(FEDERATION.name, "report", "+")]
        self._listener = Connection(
            Broker.parse(self.other),
            "listener",
            topics,
            lambda message: self.left.append(message.topic),
        )
        self.until(lambda: self._listener.up, "the listener does not connect")

    def until(self, true: Callable[[], bool], what: str, *children: Child) -> None:
        def listened() -> bool:
            self._listener.step(time.monotonic())
            return bool(true())

        self.first.until(listened, what, *children)

    def run(self, url: str) -> list[Child]:
        """All devices on one of the brokers, until they end."""
        agents = [self.first.agent(name, url) for name in FEDERATION.names()]
        for agent in agents:
            self.until(lambda agent=agent: agent.poll() is not None, "does not end", agent)
        return agents

    def close(self) -> None:
        self._listener.close()
        self.first.close()
        self._broker.close()


@pytest.fixture
def cells(tmp_path: Path, forkserver: ForkServer) -> Iterator[Cells]:
    made = Cells(tmp_path, forkserver)
    yield made
    made.close()


def test_restored_devices_that_come_back_on_another_cell_send_nothing(cells: Cells) -> None:
    """Fresh states under old names: the store knows what their first lives have sent."""
    first = cells.run(cells.first.url)
    assert [agent.poll() for agent in first] == [DONE] * FEDERATION.devices, first[0].said()
    for name in FEDERATION.names():
        shutil.rmtree(cells.first.directory / name)
    restored = cells.run(cells.other)
    assert [agent.poll() for agent in restored] == [REFUSED] * FEDERATION.devices
    assert cells.left == []
    assert counted(cells.first.directory / "store.db") == FEDERATION.devices


def test_devices_that_move_to_another_cell_after_their_receipt_are_known_there(
    cells: Cells,
) -> None:
    """With their own states: nothing leaves, and nobody is stopped."""
    cells.run(cells.first.url)
    moved = cells.run(cells.other)
    assert [agent.poll() for agent in moved] == [DONE] * FEDERATION.devices, moved[0].said()
    assert cells.left == []


def test_who_lost_its_cell_before_its_receipt_sends_the_same_bytes_on_another(
    cells: Cells,
) -> None:
    """The first cell's worker is killed with the reports counted and not answered."""
    (worker, _) = cells.first.children
    worker.kill()
    cells.first.aggregator(worker="first", kill=("committed", 2))
    agents = [cells.first.agent(name) for name in FEDERATION.names()]
    cells.until(lambda: cells.first.children[2].poll() is not None, "not killed")
    for agent in agents:
        agent.kill()
    ended = cells.run(cells.other)
    assert [agent.poll() for agent in ended] == [DONE] * FEDERATION.devices, ended[0].said()
    assert counted(cells.first.directory / "store.db") == FEDERATION.devices
