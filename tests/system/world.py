"""A federation that a schedule of operations and faults happens to, and the books that must balance afterwards."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

import tomli_w
from paho.mqtt.client import MQTTMessage

from edge_agent.agent import Phase
from edge_agent.mqtt.connection import Connection
from fsir.net.broker import Broker
from fsir.wire.messages import topic
from tests.system.books import Account, audit, counted
from tests.system.brokers import Mosquitto
from tests.system.device import SHORT, Device
from tests.system.forkserver import ForkServer
from tests.system.one_hot import POLICY, SHY, Federation
from tests.system.proxy import Proxy, Weather
from tests.system.workers import Workers

PATIENCE = 60.0  # seconds for everything to come to rest once nothing is broken any more ...
ARRIVAL = 60.0  # ... and for the task to reach all devices, before anything is


@dataclass(frozen=True)
class Setup:
    """What a schedule starts from."""

    federation: Federation
    broker: str = "debian"
    replayable: bool = True
    broken: str | None = None  # a safeguard of the aggregator that is out of order
    more: tuple[str, ...] = ()  # lines of the broker's configuration
    second: Federation | None = None  # another task of the same devices
    workers: int = 1
    victims: frozenset[int] = frozenset()  # devices that may be withdrawn or stopped
    shy: frozenset[int] = frozenset()  # devices whose owners refuse the second task
    debounce: float | None = None  # seconds between two estimates; None: no estimates

    @property
    def federations(self) -> tuple[Federation, ...]:
        """All of them."""
        return (self.federation,) if self.second is None else (self.federation, self.second)


class World(Workers):
    """Broker, aggregator and devices, with a faulty network in between."""

    def __init__(self, setup: Setup, directory: Path, server: ForkServer, seed: int) -> None:
        self.setup = setup
        self.rng = random.Random(seed)
        self.broker = Mosquitto(setup.broker, setup.more)
        self.broker.start("mosquitto")
        self.near, self.far = (
            Proxy(self.broker.port, random.Random(f"{seed}-{side}")) for side in ("near", "far")
        )
        for task in setup.federations:
            (directory / f"{task.name}.toml").write_text(tomli_w.dumps(task.task().table()))
        tasks = [str(directory / f"{task.name}.toml") for task in setup.federations]
        super().__init__(
            server, directory, setup.workers, task=tasks, url=self.far.url, broken=setup.broken,
            debounce=setup.debounce,
        )  # fmt: skip
        self.start_aggregator()
        self.devices = [
            Device(k, setup.federations, self.near.url, directory, replayable=setup.replayable,
                   policy=SHY if k in setup.shy else POLICY)
            for k in range(setup.federation.devices)
        ]  # fmt: skip
        self.forged: set[tuple[str, str]] = (
            set()
        )  # tasks and devices with a receipt for what was never sent
        self.seen: dict[str, bytes] = {}  # what the broker has for everybody, by topic
        # Whoever gets at old messages, writes what is none, and sees what everybody sees: straight to the broker.
        topics = [
            topic(task.name, kind) for task in setup.federations for kind in ("active", "subspace")
        ]
        self.stranger = Connection(
            Broker.parse(self.broker.url),
            "stranger",
            topics,
            self._see,
            on_down=self.seen.clear,
            delays=SHORT,
        )

    def close(self) -> None:
        """Leave nothing behind."""
        for device in self.devices:
            device.crash()
        self.stranger.close()
        self.stop_aggregator()
        for proxy in (self.near, self.far):
            proxy.close()
        self.broker.close()

    def _see(self, message: MQTTMessage) -> None:
        self.seen[message.topic] = bytes(message.payload)

    # --- time passes ----------------------------------------------------------------------------------------------

    def turn(self, seconds: float) -> None:
        """Let everybody live for a while."""
        end = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            for proxy in (self.near, self.far):
                proxy.step()
            for device in self.devices:
                device.step(now)
            self.stranger.step(now)
            if now >= end:
                return
            time.sleep(0.002)

    def wait_for_task(self) -> None:
        """Until every device knows what it is about."""
        deadline = time.monotonic() + ARRIVAL
        while not all(
            device.on and all(a.task or a.reason for a in device.agents.values())
            for device in self.devices
        ):
            assert time.monotonic() < deadline, "the task did not arrive"
            self.turn(0.01)

    # --- the end --------------------------------------------------------------------------------------------------

    def heal(self) -> None:
        """Nothing is broken any more, and every device is on."""
        self.near.weather, self.far.weather = Weather(), Weather()
        if self.broker.pid is None:
            self.broker.restart()
        self.start_aggregator()
        for device in self.devices:
            device.start()
            device.fill_disk(False)
            device.appetite = 10**6

    def finish(self) -> list[str]:
        """Heal, wait until all is quiet, and check the books; what is wrong, in words."""
        self.heal()
        deadline = time.monotonic() + PATIENCE
        while late := self._unsettled():
            if time.monotonic() > deadline:
                return late + self.accidents() + self.audit()
            self.heal()
            self.withdraw_again()
            self.turn(0.05)
        self.stop_aggregator()
        return self.accidents() + self.audit()

    def _unsettled(self) -> list[str]:
        """Who is not where it should end; and aggregators that have something left to say."""
        found = [
            f"{device.name} is stuck in {task.name}: {_phase(device, task.name)}"
            for device in self.devices
            for task in self.setup.federations
            if not self._settled(device, task)
        ]
        return found or self._again() or self.unpublished(self.seen)

    def _again(self) -> list[str]:
        """A broker delivers once more what withdrawn devices have sent, as often as it takes to be answered."""
        sent = {
            (task, device.name): [raw for raws in stages.values() for raw in sorted(raws)]
            for device in self.devices
            for task, stages in device.sent.items()
        }
        waiting = self.unanswered(sent)
        for task, device, raw in waiting:
            self.stranger.publish(topic(task, "report", device), raw)
        return [
            f"{device} is withdrawn from {task}, and gets no answer" for task, device, _ in waiting
        ]

    def _settled(self, device: Device, task: Federation) -> bool:
        if not device.on:
            return False
        agent = device.agents[task.name]
        if self._refuses(device, task):
            return "never shares" in agent.reason
        return agent.phase is Phase.SERVING or self._stopped(device, task)

    def _refuses(self, device: Device, task: Federation) -> bool:
        return task.secret and device.number in self.setup.shy

    def _stopped(self, device: Device, task: Federation) -> bool:
        """Whether something has stopped a device that was forced upon it: not every stop is a fault."""
        reason = device.agents[task.name].reason
        return (task.name, device.name) in self.forged and "did not make" in reason

    def counted(self) -> int:
        """Reports in the store."""
        return counted(self.store)

    def audit(self) -> list[str]:
        """Whether the books balance; all devices die for it."""
        found = []
        stopped = {
            (t.name, d.name)
            for t in self.setup.federations
            for d in self.devices
            if self._stopped(d, t)
        }
        for device in self.devices:
            device.crash()
        for task in self.setup.federations:
            accounts = [
                Account(d.number, d.name, self.directory / d.name, d.sent[task.name],
                        withdrawn=(task.name, d.name) in self.withdrawn, stopped=(task.name, d.name) in stopped,
                        refuses=self._refuses(d, task))
                for d in self.devices
            ]  # fmt: skip
            found += audit(task, self.store, accounts, replayable=self.setup.replayable)
        return found


def _phase(device: Device, task: str) -> str:
    return f"{device.agents[task].phase} {device.agents[task].reason}" if device.on else "off"
