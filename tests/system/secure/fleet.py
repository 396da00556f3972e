"""Devices as processes too: `fsir-agent run` of each, killed and started again at any moment.

Every record of a device is 1 in the device's own feature and 0 elsewhere, and its noise is silent:
so the vector of every device is known, and a record, a report or a device that is lost or doubled
shows in what is opened.
"""

from __future__ import annotations

import json
import random
import time
from contextlib import closing
from pathlib import Path

import numpy as np
from paho.mqtt.client import MQTTMessage

from edge_agent.mqtt.connection import Connection
from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State
from fsir.arrays import Integers
from fsir.net.broker import Broker
from fsir.privacy.moments import Moments
from fsir.privacy.release import release
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, report_id, topic
from tests.aggregator.secure.pair import SEED, secure_task
from tests.system.harness.forkserver import Child, ForkServer
from tests.system.harness.silent import SilentNoise
from tests.system.secure.world import World

CLASSES = "abc"
RECORDS = 30
RECORDS_PER_SECOND = 60  # so that devices are also killed while they learn
DEVICES = "devices"
BROKER = "broker"
VICTIMS = (LEADER, HELPER, BROKER, DEVICES)


def fleet_task(devices: int, cohort: int) -> Task:
    """A task in which every device has a feature of its own."""
    clip = {"truncate": 1.0, "norm": 1.0}
    return secure_task(devices, cohort=cohort, clip=clip, report={"records": RECORDS})


class Fleet(World):
    """As `World`, with devices that are processes of the product."""

    def __init__(
        self,
        folder: Path,
        server: ForkServer,
        *,
        devices: int,
        cohort: int,
        seed: int,
        broken: str | None = None,
        pace: float = RECORDS_PER_SECOND,
    ) -> None:
        # With a seed the sums are known, and without one a second noise would be another answer.
        known = SEED if seed % 2 else None
        super().__init__(folder, server, fleet_task(devices, cohort), devices, seed=known)
        self._line.close()
        self.reports = dict.fromkeys(self.reports, b"")
        self.payloads: dict[str, set[bytes]] = {f"d{i}": set() for i in range(devices)}
        self.names = list(self.payloads)
        self._broken = broken  # a safeguard of the devices
        self._pace = pace  # records a second
        self.rng = random.Random(seed)
        self.kills = dict.fromkeys(VICTIMS, 0)
        kinds = ("receipt/+", "receipt/+/helper", "cohort/+", "report/+")
        heard = [topic(self.task.name, kind) for kind in kinds]
        self._line = Connection(Broker.parse(self.url), "listener", heard, self._heard)
        for number, name in enumerate(self.names):
            self._write_records(name, number)

    def _write_records(self, name: str, number: int) -> None:
        rows = [
            {f"x{j}": float(j == number) for j in range(self.task.p)}
            | {"y": CLASSES[k % 3], "t": k / self._pace}
            for k in range(RECORDS)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self._folder / f"{name}.jsonl").write_text(text, "utf-8")

    def _heard(self, message: MQTTMessage) -> None:
        kind, device = message.topic.split("/")[-2:]
        if kind == "report":
            self.payloads[device].add(bytes(message.payload))
        elif "/cohort/" in message.topic:
            super()._heard(message)
        else:
            receipt = decode(bytes(message.payload), Receipt)
            self.answered.add((receipt.device, receipt.by))
            for verdict in receipt.verdicts.values():
                assert verdict.status in ("counted", "duplicate"), verdict

    # --- life and death ---------------------------------------------------------------------------

    def start_missing(self, roles: tuple[str, ...] = ROLES) -> None:
        """Start every aggregator and device that does not run."""
        for role in roles:
            if self._gone(role):
                self.start(role)
        for name in self.names:
            if self._gone(name):
                self.children[name] = self._start_device(name)

    def _gone(self, name: str) -> bool:
        return name not in self.children or self.children[name].poll() is not None

    def _start_device(self, name: str) -> Child:
        state = ["--state", str(self._folder / name), "--save-every", "0.05"]
        source = ["--source", f"jsonl:{self._folder / name}.jsonl", "--time-column", "t"]
        part = ["--broker", self.url, "--task", str(self._folder / "task.toml"), "--device", name]
        arguments = ["run", *part, *source, "--follow", *state]
        log = self._folder / f"{name}.log"
        options = {"arguments": arguments, "silent": True, "broken": self._broken}
        return self._server.start("agent", log, **options)

    def kill(self, victim: str) -> None:
        """kill -9, of devices one or more."""
        self.kills[victim] += 1
        if victim == BROKER:
            self.broker.kill()
            self.broker.restart()
        elif victim == DEVICES:
            for name in self.rng.sample(self.names, self.rng.randint(1, len(self.names))):
                self.children[name].kill()
        else:
            self.children[victim].kill()

    def live(self, seconds: float) -> None:
        """Let everything run for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step()

    def step(self, sending: int | None = None) -> None:
        """Listen; the devices send by themselves."""
        self._line.step(time.monotonic())
        time.sleep(0.005)

    @property
    def listens(self) -> bool:
        """Whether what is said from now on is heard."""
        return self._line.up

    def all_greeted(self) -> bool:
        """Whether the listener has heard both answer every device: then its report may leave."""
        return super().all_answered()

    # --- what must be true ------------------------------------------------------------------------

    def all_answered(self) -> bool:
        """Whether every device says so: an answer that the listener missed is not said again."""
        return all(map(self._is_settled, self.names))

    def _is_settled(self, name: str) -> bool:
        with closing(State(self._folder / name, None, read_only=True)) as state:
            return bool(state.ledger()) and not state.outbox(self.task.name)

    def finish(self) -> None:
        """Both have answered every device, and too few are left for a cohort."""
        super().finish()
        for child in self.children.values():
            child.kill()

    def spent(self, name: str) -> list[LedgerRow]:
        """The ledger of a device."""
        with closing(State(self._folder / name, None, read_only=True)) as state:
            return state.ledger()

    def check(self) -> None:
        """Budgets are spent once, and every device is in at most one sum, once."""
        ledgers = {name: self.spent(name) for name in self.names}
        assert {name: len(rows) for name, rows in ledgers.items()} == dict.fromkeys(self.names, 1)
        ids = {name: bytes(rows[0].report) for name, rows in ledgers.items()}
        for name, seen in self.payloads.items():
            assert {report_id(raw) for raw in seen} <= {ids[name]}, f"{name} has sent another"
        there = self.opened(LEADER)
        assert there == self.opened(HELPER)
        assert set(there) <= set(ids.values())
        assert all(len(said) == 1 for said in self.answers.values())
        left = len(self.names) - len(there)
        assert self.count(LEADER, "share") == self.count(HELPER, "share") == left
        if self._seed is not None:
            self._check_sums({name: there.get(one) for name, one in ids.items()})

    def _check_sums(self, cohort_of: dict[str, int | None]) -> None:
        opened = self.sums()
        assert opened
        for number, total in opened.items():
            members = [name for name in self.names if cohort_of[name] == number]
            assert np.array_equal(total, sum(self.vector(name) for name in members)), members

    def vector(self, name: str) -> Integers:
        """What a device has sent, if each of its records counts once."""
        moments = Moments(self.task, self.stage)
        rows = np.zeros((RECORDS, self.task.p))
        rows[:, self.names.index(name)] = 1.0
        moments.learn_many(rows, [CLASSES[k % 3] for k in range(RECORDS)])
        return np.concatenate(release(moments, SilentNoise()).blocks)
