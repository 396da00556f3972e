"""A federation that a schedule of operations and faults happens to, and the books that must balance afterwards."""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.counting import recount
from aggregator.federation import Federation as Layouts
from aggregator.sqlite import SqliteStore
from edge_agent.connection import Broker, Connection
from fsir.decode import decode
from fsir.messages import Report, report_id
from fsir.plan import FINAL
from fsir.toml import to_toml
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
        store = SqliteStore(self.store, create=False)
        try:
            return sum(1 for task in store.tasks() for _ in store.reports(task.key))
        finally:
            store.close()

    def audit(self) -> list[str]:
        """Nothing lost, nothing doubled, one report per device and stage, and the ledger says what was sent."""
        federation, found = self.setup.federation, []
        store = SqliteStore(self.store, create=False)
        try:
            task = federation.task()
            layouts = Layouts(task)
            (row,) = store.tasks()
            layouts.key = row.key
            if (active := store.published(row.key, "active")) is not None:
                layouts.pin(active.body)
            expected: dict[str, np.ndarray] = {}
            counted = {(report.device, report.stage): report.id for report in store.reports(row.key)}
            for device in self.devices:
                found += self._books(device, counted, expected)
            if strangers := set(counted) - {(d.name, stage) for d in self.devices for stage in d.sent}:
                found.append(f"counted, but nobody sent it: {sorted(strangers)}")
            for stage, values in expected.items():
                totals = store.totals(row.key, stage)
                merged = np.frombuffer(totals.values, "<i8") if totals.values else np.zeros_like(values)
                found += federation.explain(federation.stage(stage), merged, values)
                again = recount(store, layouts, stage)
                if (again.devices, again.records, again.values) != (totals.devices, totals.records, totals.values):
                    found.append(f"{stage}: the totals are not those of the stored reports")
            return found
        finally:
            store.close()

    def _books(
        self, device: Device, counted: dict[tuple[str, str], bytes], expected: dict[str, np.ndarray]
    ) -> list[str]:
        found = []
        books = device.books()
        try:
            ledger = books.ledger()
            if books.outbox():
                found.append(f"{device.name} still has a report without a receipt")
        finally:
            books.close()
        if FINAL not in {row.stage for row in ledger} or len({row.stage for row in ledger}) != len(ledger):
            found.append(f"{device.name} has entered {[row.stage for row in ledger]} in its ledger")
        if {row.stage for row in ledger} != set(device.sent):
            found.append(f"{device.name} has sent {sorted(device.sent)} and entered {[row.stage for row in ledger]}")
        for row in ledger:
            sent = device.sent.get(row.stage, set())
            if len(sent) != 1:
                found.append(f"{device.name} has sent {len(sent)} different {row.stage} reports")
            if {report_id(raw) for raw in sent} != {row.report}:
                found.append(f"{device.name} has sent another {row.stage} report than its ledger says")
            if counted.get((device.name, row.stage)) != row.report:
                found.append(f"{device.name}: its {row.stage} report was not counted")
            if row.verdict not in ("counted", "duplicate"):
                found.append(f"{device.name}: {row.stage} {row.verdict}: {row.reason}")
            covered = row.last - row.first + 1
            if row.n != self.setup.federation.records or (self.setup.replayable and covered != row.n):
                found.append(f"{device.name}: a {row.stage} report about {row.n} records from an interval of {covered}")
            values = self._values(device, row, sent)
            expected[row.stage] = expected[row.stage] + values if row.stage in expected else values
        return found

    def _values(self, device: Device, row: object, sent: set[bytes]) -> np.ndarray:
        """What the merged report should have of this device."""
        federation = self.setup.federation
        if federation.mechanism == "none" and self.setup.replayable:
            return federation.expected(device.number, row)  # type: ignore[arg-type]
        total = 0
        for raw in list(sent)[:1]:  # noise, or records that a crash has lost: exactly what was sent must be counted
            report = decode(raw, "report")
            assert isinstance(report, Report)
            total = total + np.concatenate(report.blocks)
        return np.asarray(total)


def _phase(device: Device) -> str:
    return "off" if device.agent is None else f"{device.agent.phase} {device.agent.reason}"
