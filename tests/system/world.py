"""A federation that a schedule of operations and faults happens to, and the books that must balance afterwards."""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from edge_agent.connection import Broker, Connection
from fsir.toml import to_toml
from tests.system.books import Account, audit, counted
from tests.system.brokers import Mosquitto
from tests.system.device import SHORT, Device
from tests.system.forkserver import Child, ForkServer
from tests.system.one_hot import Federation
from tests.system.proxy import Proxy, Weather

PATIENCE = 60.0  # seconds for everything to come to rest once nothing is broken any more


@dataclass(frozen=True)
class Setup:
    """What a schedule starts from."""

    federation: Federation
    broker: str = "debian"
    replayable: bool = True
    broken: str | None = None  # a safeguard of the aggregator that is out of order
    more: tuple[str, ...] = ()  # lines of the broker's configuration


class World:
    """Broker, aggregator and devices, with a faulty network in between."""

    def __init__(self, setup: Setup, directory: Path, server: ForkServer, seed: int) -> None:
        self.setup, self.directory, self._server = setup, directory, server
        self.rng = random.Random(seed)
        self.log: list[str] = []
        self.broker = Mosquitto(setup.broker, setup.more)
        self.broker.start("mosquitto")
        self.near, self.far = (Proxy(self.broker.port, random.Random(f"{seed}-{side}")) for side in ("near", "far"))
        (directory / "task.toml").write_text(to_toml(setup.federation.task().table()))
        self.store = directory / "store.db"
        self.aggregator: Child | None = None
        self.start_aggregator()
        self.devices = [
            Device(k, setup.federation, self.near.url, directory, replayable=setup.replayable)
            for k in range(setup.federation.devices)
        ]
        # Whoever gets at old messages, or writes what is none: straight to the broker.
        self.stranger = Connection(
            Broker.parse(self.broker.url), "stranger", ["fsir/none"], lambda _: None, delays=SHORT
        )

    def close(self) -> None:
        """Leave nothing behind."""
        for device in self.devices:
            device.crash()
        self.stranger.close()
        if self.aggregator is not None:
            self.aggregator.kill()
        for proxy in (self.near, self.far):
            proxy.close()
        self.broker.close()

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
        deadline = time.monotonic() + PATIENCE
        while not all(device.agent is not None and device.agent.task is not None for device in self.devices):
            assert time.monotonic() < deadline, "the task did not arrive"
            self.turn(0.01)

    def start_aggregator(self, clock: float = 0.0, kill: tuple[str, int] | None = None) -> None:
        """Start it, if it does not run."""
        if self.aggregator is not None and self.aggregator.poll() is None:
            return
        self.aggregator = self._server.start(
            "serve", self.directory / "aggregator.log", task=str(self.directory / "task.toml"), url=self.far.url,
            store=str(self.store), clock=clock, kill=kill, broken=self.setup.broken,
        )  # fmt: skip

    def stop_aggregator(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it."""
        if self.aggregator is not None:
            self.aggregator.kill(how)

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
        while not all(device.settled for device in self.devices):
            if time.monotonic() > deadline:
                return [f"{device.name} is stuck: {_phase(device)}" for device in self.devices if not device.settled]
            self.heal()
            self.turn(0.05)
        self.stop_aggregator()
        return self.audit()

    def counted(self) -> int:
        """Reports in the store."""
        return counted(self.store)

    def audit(self) -> list[str]:
        """Whether the books balance; all devices die for it."""
        for device in self.devices:
            device.crash()
        accounts = [Account(d.number, d.name, self.directory / d.name, d.sent) for d in self.devices]
        return audit(self.setup.federation, self.store, accounts, replayable=self.setup.replayable)


def _phase(device: Device) -> str:
    return "off" if device.agent is None else f"{device.agent.phase} {device.agent.reason}"
