"""mosquitto, leader and helper as processes, devices that send until both have answered, and a
listener that hears every word between the aggregators."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from paho.mqtt.client import MQTTMessage

from aggregator.store.sqlite import SqliteStore
from edge_agent.mqtt.connection import Connection
from fsir.arrays import Integers
from fsir.net.broker import Broker
from fsir.privacy.plan import first_stage
from fsir.secure.keys import verifier, write_pair
from fsir.secure.opening import opened
from fsir.secure.report import secure_of
from fsir.secure.ring import ring_of
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.task.task import Task
from fsir.wire.cohort import Answer, Declined, decode_cohort
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, report_id, topic
from tests.aggregator.secure.pair import PAIRS, SEED, noise_of, one_hot, sealed
from tests.system.harness.brokers import Mosquitto
from tests.system.harness.forkserver import Child, ForkServer

PATIENCE_SECONDS = 60.0
AGAIN_SECONDS = 0.2  # after which a device sends again what is not answered by both


class World:
    """Two aggregators over one broker; every report is one-hot, so that each shows in a sum."""

    def __init__(
        self, folder: Path, server: ForkServer, task: Task, devices: int, seed: int | None = SEED
    ) -> None:
        self.task = task
        self._folder = folder
        self._server = server
        self._seed = seed
        self.stage = first_stage(task)
        self.broker = Mosquitto()
        self.url = self.broker.start("mosquitto")
        (folder / "task.toml").write_text(tomli_w.dumps(task.table()))
        for role, pair in PAIRS.items():
            write_pair(pair, folder / f"{role}.key")
        self.reports = {
            f"d{i}": sealed(task, f"d{i}", one_hot(self.stage, i)) for i in range(devices)
        }
        self.answered: set[tuple[str, str]] = set()  # device, and who has answered it
        self.answers: dict[object, set[bytes]] = {}  # by heading, what the helper has said
        self.declined: list[str] = []  # why the helper has opened nothing
        self.children: dict[str, Child] = {}
        heard = [topic(task.name, kind) for kind in ("receipt/+", "receipt/+/helper", "cohort/+")]
        self._line = Connection(Broker.parse(self.url), "devices", heard, self._heard)
        self._next = 0.0

    def start(self, role: str) -> None:
        """Start an aggregator, which may have been killed before."""
        self.children[role] = self._server.start(
            "serve",
            self._folder / f"{role}.log",
            task=[str(self._folder / "task.toml")],
            url=self.url,
            store=str(self.path(role)),
            worker=role,
            role=role,
            key=str(self._folder / f"{role}.key"),
            seed=self._seed,
            debounce=0.1,
        )

    def path(self, role: str) -> Path:
        """The store of an aggregator."""
        return self._folder / f"{role}.db"

    def _heard(self, message: MQTTMessage) -> None:
        raw = bytes(message.payload)
        if "/cohort/" in message.topic:
            said = decode_cohort(raw, verifier(secure_of(self.task)))
            if isinstance(said, Answer):
                self.answers.setdefault(said.heading, set()).add(raw)
            elif isinstance(said, Declined):
                self.declined.append(said.reason)
            return
        receipt = decode(raw, Receipt)
        verdict = receipt.verdicts["final"]
        assert verdict.status in ("counted", "duplicate"), verdict
        assert verdict.report == report_id(self.reports[receipt.device])
        self.answered.add((receipt.device, receipt.by))

    def step(self, sending: int | None = None) -> None:
        """Devices, the first so many or all, send what is not answered by both."""
        self._line.step(time.monotonic())
        if self._line.up and time.monotonic() > self._next:
            self._next = time.monotonic() + AGAIN_SECONDS
            for device, raw in list(self.reports.items())[:sending]:
                if not all((device, role) in self.answered for role in ROLES):
                    self._line.publish(topic(self.task.name, "report", device), raw, False)
        time.sleep(0.005)

    def until(self, true: Callable[[], bool], what: str) -> None:
        """Go on until something is so; else say what is not, and what the aggregators have said."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not true():
            if time.monotonic() > deadline:
                pytest.fail("\n".join([what, *(c.said()[-3000:] for c in self.children.values())]))
            self.step()

    def count(self, role: str, table: str) -> int:
        """How many rows a table of an aggregator has."""
        with closing(sqlite3.connect(f"file:{self.path(role)}?mode=ro", uri=True)) as store:
            (count,) = store.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(count)

    def all_answered(self) -> bool:
        """Whether both have answered every device."""
        return len(self.answered) == len(ROLES) * len(self.reports)

    def finish(self) -> None:
        """Every device is answered by both, and all that a cohort can be made of is opened."""
        least = secure_of(self.task).cohort
        self.until(self.all_answered, "not every report is answered by both")
        # Only now: what is not opened at one of the two must be fewer than a cohort.
        self.until(lambda: self.count(LEADER, "share") < least, "a cohort waits at the leader")

    def sums(self) -> dict[int, Integers]:
        """What was opened, cohort by cohort, without the noise of both."""
        ring = ring_of(self.task, self.stage)
        with closing(SqliteStore(self.path(LEADER), create=False)) as store:
            return {
                row.number: opened(ring, ring.unpack(row.own), ring.unpack(row.other))
                - sum(noise_of(self.stage, role, number=row.number) for role in ROLES)
                for row in store.opened_cohorts(1, "final")
            }

    def opened(self, role: str) -> dict[bytes, int]:
        """The ids that an aggregator has opened, and in which cohort."""
        with closing(sqlite3.connect(f"file:{self.path(role)}?mode=ro", uri=True)) as store:
            return dict(store.execute("SELECT id, number FROM opened").fetchall())

    def check(self) -> None:
        """Nothing is lost, doubled, opened twice or opened with other noise again."""
        there = self.opened(LEADER)
        assert there == self.opened(HELPER)
        assert all(len(said) == 1 for said in self.answers.values())
        left = self.count(LEADER, "share")
        assert left == self.count(HELPER, "share") == len(self.reports) - len(there)
        sizes = np.bincount(list(there.values()))
        least = secure_of(self.task).cohort
        assert all(size >= least for size in sizes if size)
        if self._seed is not None:
            total = sum(self.sums().values())
            ids = [report_id(raw) in there for raw in self.reports.values()]
            assert total[: len(ids)].tolist() == [int(is_there) for is_there in ids]
            assert not total[len(ids) :].any()

    def close(self) -> None:
        """End everything."""
        self._line.close()
        for child in self.children.values():
            child.kill()
        self.broker.close()
