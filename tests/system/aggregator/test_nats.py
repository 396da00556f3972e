"""NATS as a cell: three nodes that are one broker, of which one dies while reports come in."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from edge_agent.agent import Agent, Phase
from edge_agent.mqtt.client import MQTT_3, Greeting
from edge_agent.mqtt.connection import Connection
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from fsir.privacy.noise import SeededNoise
from tests.edge_agent.world import data
from tests.fsir.tasks import task
from tests.system.aggregator.daemons import Serving
from tests.system.aggregator.fleets import check
from tests.system.harness.haproxy import HaProxy
from tests.system.harness.nats import Nats

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TASK = task()
DEVICES = 200
SPREAD_SECONDS = 20.0
PATIENCE_SECONDS = 300.0
GREETING = Greeting(versions=(MQTT_3,), keepalive_seconds=5, welcome_seconds=10.0)


class Device:
    """A real agent on a real connection, which comes at its time."""

    def __init__(self, number: int, url: str) -> None:
        name = f"d{number}"
        self.comes = SPREAD_SECONDS * number / DEVICES
        self.agent = Agent(
            State(None, name, simulated=True),
            TASK.name,
            noise=SeededNoise(number, name),
            simulated=True,
            delays=Delays(first=1.0, longest=5.0),
        )
        self.connection = Connection(
            Broker.parse(url),
            f"fsir-agent-{name}",
            self.agent.subscriptions(),
            lambda message: self.agent.receive(message.topic, bytes(message.payload)),
            qos=0,
            on_up=lambda: self.agent.connected(time.monotonic()),
            on_down=self.agent.disconnected,
            delays=Delays(first=0.5, longest=2.0),
            greeting=GREETING,
        )
        self._learned = False

    def step(self) -> bool:
        """One turn; whether it has its receipt."""
        now = time.monotonic()
        self.connection.step(now)
        if self.agent.task is not None and not self._learned:
            self.agent.learn_many(*data(TASK, 100))
            self._learned = True
        for message in self.agent.outgoing(now):
            self.connection.publish(message.topic, message.payload, message.retain)
        return self.agent.phase is Phase.SERVING


def run(directory: Path, killed: int | None) -> float:
    """A whole federation; seconds until the last receipt."""
    directory.mkdir()
    with (
        Nats(directory, nodes=3) as nats,
        HaProxy(directory, nats.ports) as proxy,
        Serving(proxy.url, directory / "s.db", TASK, version="3.1.1"),
    ):
        devices = [Device(number, proxy.url) for number in range(DEVICES)]
        begun = time.monotonic()
        open_ = set(range(DEVICES))
        while open_:
            passed = time.monotonic() - begun
            assert passed < PATIENCE_SECONDS, f"{len(open_)} devices have no receipt"
            if killed is not None and passed > SPREAD_SECONDS / 2:
                nats.kill(killed)
                killed = None
            open_ -= {i for i in open_ if devices[i].comes <= passed and devices[i].step()}
            time.sleep(0.005)
        seconds = time.monotonic() - begun
        for device in devices:
            device.connection.close()
    check(directory / "s.db", DEVICES, TASK)
    return seconds


def test_a_node_that_dies_loses_and_doubles_nothing(tmp_path: Path) -> None:
    undisturbed = run(tmp_path / "calm", None)
    disturbed = run(tmp_path / "killed", 1)
    print(f"{undisturbed:.1f} s undisturbed, {disturbed:.1f} s with a node killed")
