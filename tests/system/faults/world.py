"""A federation that operations and faults happen to, and books that must balance afterwards."""

from __future__ import annotations

import random
import time
from pathlib import Path

import tomli_w
from paho.mqtt.client import MQTTMessage

from edge_agent.agent import Phase
from edge_agent.mqtt.connection import Connection
from fsir.net.broker import Broker
from fsir.wire.messages import topic
from tests.system.faults.device import SHORT, Device
from tests.system.faults.setup import Setup
from tests.system.faults.workers import Workers
from tests.system.harness.books import Account, audit, counted
from tests.system.harness.brokers import Mosquitto
from tests.system.harness.forkserver import ForkServer
from tests.system.harness.one_hot import POLICY, SHY, Federation
from tests.system.harness.proxy import Proxy, Weather

PATIENCE_SECONDS = 60.0  # for everything to come to rest once nothing is broken any more ...
ARRIVAL_SECONDS = 60.0  # ... and for the task to reach all devices, before anything is


class World(Workers):
    """Broker, aggregator and devices, with a faulty network in between."""

    def __init__(self, setup: Setup, directory: Path, server: ForkServer, seed: int) -> None:
        self.setup = setup
        self.rng = random.Random(seed)
        self.broker = Mosquitto(setup.broker, setup.more)
        self.broker.start("mosquitto")
        self.near = Proxy(self.broker.port, random.Random(f"{seed}-near"))
        self.far = Proxy(self.broker.port, random.Random(f"{seed}-far"))
        for task in setup.federations:
            (directory / f"{task.name}.toml").write_text(tomli_w.dumps(task.task().table()))
        tasks = [str(directory / f"{task.name}.toml") for task in setup.federations]
        options = {"broken": setup.broken, "debounce": setup.debounce}
        places = setup.workers
        options |= {"task": tasks, "url": self.far.url}
        super().__init__(server, directory, places, setup.store, **options)
        self.start_aggregator()
        self.devices = [self._device(number) for number in range(setup.federation.devices)]
        # Tasks and devices with a receipt for what was never sent.
        self.forged: set[tuple[str, str]] = set()
        self.seen: dict[str, bytes] = {}  # what the broker has for everybody, by topic
        self.stranger = self._stranger()

    def _device(self, number: int) -> Device:
        return Device(
            number,
            self.setup.federations,
            self.near.url,
            self.directory,
            replayable=self.setup.replayable,
            policy=SHY if number in self.setup.shy else POLICY,
        )

    def _stranger(self) -> Connection:
        """Whoever gets at old messages, writes what is none, and sees what everybody sees."""
        topics = [
            topic(task.name, kind)
            for task in self.setup.federations
            for kind in ("active", "subspace")
        ]
        return Connection(
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

    # --- time passes ------------------------------------------------------------------------------

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
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while not all(device.informed for device in self.devices):
            assert time.monotonic() < deadline, "the task did not arrive"
            self.turn(0.01)

    def wait_for_answers(self) -> None:
        """Until the reports of every device may leave."""
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while not all(device.answered for device in self.devices):
            assert time.monotonic() < deadline, "some ask was not answered"
            self.turn(0.01)

    # --- the end ----------------------------------------------------------------------------------

    def heal(self) -> None:
        """Nothing is broken any more, and every device is on."""
        self.near.weather = Weather()
        self.far.weather = Weather()
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
        deadline = time.monotonic() + PATIENCE_SECONDS
        while late := self._restless():
            if time.monotonic() > deadline:
                return late + self.accidents() + self.audit()
            self.heal()
            self.withdraw_again()
            self.turn(0.05)
        self.stop_aggregator()
        return self.accidents() + self.audit()

    def _restless(self) -> list[str]:
        """Who is not where it should end; and aggregators that have something left to say."""
        stuck = [
            f"{device.name} is stuck in {task.name}: {_phase(device, task.name)}"
            for device in self.devices
            for task in self.setup.federations
            if not self._at_rest(device, task)
        ]
        return stuck or self._again() or self.unpublished(self.seen)

    def _again(self) -> list[str]:
        """A broker delivers again what withdrawn devices have sent, until it is answered."""
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

    def _at_rest(self, device: Device, task: Federation) -> bool:
        if not device.on:
            return False
        agent = device.agents[task.name]
        if self._refuses(device, task):
            return "never shares" in agent.reason
        return agent.phase is Phase.SERVING or self._stopped(device, task)

    def _refuses(self, device: Device, task: Federation) -> bool:
        return task.secret and device.number in self.setup.shy

    def _stopped(self, device: Device, task: Federation) -> bool:
        """Whether what was forced upon a device has stopped it: not every stop is a fault."""
        reason = device.agents[task.name].reason
        who = (task.name, device.name)
        told = who in self.withdrawn and reason.startswith("withdrawn by the aggregator's operator")
        return told or (who in self.forged and "did not make" in reason)

    def counted(self) -> int:
        """Reports in the store."""
        return counted(self.store)

    def audit(self) -> list[str]:
        """Whether the books balance; all devices die for it."""
        accounts = {
            task: [self._account(device, task) for device in self.devices]
            for task in self.setup.federations
        }
        for device in self.devices:
            device.crash()
        return [
            line
            for task in self.setup.federations
            for line in audit(task, self.store, accounts[task], replayable=self.setup.replayable)
        ]

    def _account(self, device: Device, task: Federation) -> Account:
        return Account(
            number=device.number,
            name=device.name,
            state=self.directory / device.name,
            sent=device.sent[task.name],
            withdrawn=(task.name, device.name) in self.withdrawn,
            stopped=self._stopped(device, task),
            refuses=self._refuses(device, task),
        )


def _phase(device: Device, task: str) -> str:
    return f"{device.agents[task].phase} {device.agents[task].reason}" if device.on else "off"
