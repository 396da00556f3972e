"""Real agents on real connections inside the test: many devices that come at their times."""

from __future__ import annotations

import time
from collections.abc import Callable

from edge_agent.agent import Agent, Phase
from edge_agent.mqtt.client import MQTT_3, Greeting
from edge_agent.mqtt.connection import Connection
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from fsir.privacy.noise import SeededNoise
from fsir.task.task import Task
from tests.edge_agent.world import data
from tests.system.harness.books import ACCEPTED

PATIENCE_SECONDS = 240.0
_GREETING = Greeting(versions=(MQTT_3,), keepalive_seconds=5, welcome_seconds=10.0)


class Device:
    """One agent, whose state is in memory."""

    def __init__(self, number: int, url: str, task: Task, comes: float) -> None:
        name = f"d{number}"
        self.comes = comes  # seconds after the start
        self._task = task
        self.state = State(None, name, simulated=True)
        self.agent = Agent(
            self.state,
            task.name,
            noise=SeededNoise(number, name),
            simulated=True,
            delays=Delays(first=1.0, longest=3.0),
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
            greeting=_GREETING,
        )
        self._learned = False

    def step(self) -> bool:
        """One turn; whether it has its receipt."""
        now = time.monotonic()
        self.connection.step(now)
        if self.agent.task is not None and not self._learned:
            self.agent.learn_many(*data(self._task, 100))
            self._learned = True
        for message in self.agent.outgoing(now):
            self.connection.publish(message.topic, message.payload, message.retain)
        return self.agent.phase is Phase.SERVING

    @property
    def settled(self) -> bool:
        """Whether its ledger has one report, which was counted."""
        rows = self.state.ledger()
        return [row.verdict in ACCEPTED for row in rows] == [True]


class Fleet:
    """So many devices, of which one after the other comes."""

    def __init__(self, count: int, url: str, task: Task, spread: float) -> None:
        self.devices = [Device(i, url, task, spread * i / count) for i in range(count)]
        self.slowest = 0.0  # seconds from the coming of a device to its receipt

    def run(self, events: list[tuple[float, Callable[[], object]]]) -> float:
        """Until all have their receipts; things happen when their share of devices has come."""
        begun = time.monotonic()
        waiting = set(range(len(self.devices)))
        due = sorted(events, key=lambda event: event[0])
        while waiting or due:
            passed = time.monotonic() - begun
            assert passed < PATIENCE_SECONDS, f"{len(waiting)} devices have no receipt"
            while due and passed >= due[0][0]:
                due.pop(0)[1]()
            done = {i for i in waiting if self._comes(i, passed) and self.devices[i].step()}
            if done:
                now = time.monotonic() - begun
                self.slowest = max(self.slowest, *(now - self.devices[i].comes for i in done))
            waiting -= done
            time.sleep(0.002)
        return time.monotonic() - begun

    def _comes(self, number: int, passed: float) -> bool:
        return self.devices[number].comes <= passed

    def close(self) -> None:
        for device in self.devices:
            device.connection.close()
            device.state.close()
