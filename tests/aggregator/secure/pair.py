"""Leader and helper in one process, each with a store on disk, and devices that send to both."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aggregator.publication import Publication
from aggregator.secure.core import SecureAggregator
from aggregator.secure.seat import Seat
from aggregator.store.opening import open_store
from aggregator.store.sqlite import SqliteStore
from fsir.arrays import Integers
from fsir.contract import task_from_table
from fsir.net.backoff import Delays
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import Stage, first_stage, report_size
from fsir.privacy.release import Release
from fsir.privacy.rounds.correlated import round_noise
from fsir.secure.keys import KeyPair
from fsir.secure.opening import aggregator_noise, opened
from fsir.secure.report import sealed_report
from fsir.secure.ring import ring_of
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, report_id, topic
from fsir.wire.shared import encode_shared

PAIRS = {LEADER: KeyPair.new("hospital"), HELPER: KeyPair.new("university")}
SEED = 11


def secure_task(p: int = 4, *, cohort: int = 5, groups: int = 1, **sections: Any) -> Task:
    """A task whose two aggregators have real keys."""
    secure = {role: pair.party._asdict() for role, pair in PAIRS.items()}
    table = {
        "name": "sealed",
        "features": {"names": [f"x{j}" for j in range(p)]},
        "response": {"classes": ["a", "b", "c"]},
        "clip": {"truncate": 2.0, "norm": 0.95 * p**0.5},
        "privacy": {"epsilon": 1.0},
        "report": {"records": 100},
        "aggregation": "secure",
        "secure": {**secure, "cohort": cohort, "groups": groups},
    }
    return task_from_table(table | sections)


def one_hot(stage: Stage, place: int) -> Integers:
    """A vector that shows whether it was added, and how often."""
    values = np.zeros(sum(stage.sizes), np.int64)
    values[place] = 1
    return values


def sealed(
    task: Task, device: str, values: Integers, *, stage: Stage | None = None, round_: int = 1
) -> bytes:
    """The bytes of a report that holds these integers."""
    stage = first_stage(task) if stage is None else stage
    first, second, third, fourth = (values[span] for span in stage.spans)
    release = Release(report_size(task), (first, second, third, fourth))
    return encode_shared(sealed_report(task, stage, device, release, round_))


def noise_of(
    stage: Stage, role: str, *, group: int = 0, number: int = 1, round_: int = 1
) -> Integers:
    """What an aggregator of this role adds to a cohort, in `Two`."""
    series = SeededNoise(SEED, role).for_stage(f"group {group} cohort {number}")
    return aggregator_noise(stage, round_noise(series, stage, round_))


@dataclass
class Two:
    """Both aggregators; `lines` has what each has published for the other, oldest first."""

    folder: Path
    task: Task
    now: float = 1000.0
    seeded: bool = True  # else the noise is the operating system's, and nobody knows it
    cores: dict[str, SecureAggregator] = field(default_factory=dict)
    lines: dict[str, list[Publication]] = field(default_factory=dict)
    told: list[Publication] = field(default_factory=list)
    ids: set[bytes] = field(default_factory=set)  # of all reports that were sent

    def __post_init__(self) -> None:
        for role in ROLES:
            self.lines[role] = []
            self.start(role)

    @property
    def stage(self) -> Stage:
        """The first stage of the task."""
        return first_stage(self.task)

    def start(self, role: str) -> None:
        """Start an aggregator, or start it again from its store as a crash has left it."""
        if role in self.cores:
            self.cores[role].store.close()
        self.cores[role] = SecureAggregator(
            open_store(f"sqlite:{self.folder / role}.db"),
            [self.task],
            Seat(role, PAIRS[role]),
            debounce=0.0,
            noise=SeededNoise(SEED, role) if self.seeded else None,
            delays=Delays(first=1.0, longest=4.0),
            rng=random.Random(role),
        )
        self.keep(role, self.cores[role].start(self.now))

    def store(self, role: str) -> SqliteStore:
        """The store of an aggregator."""
        store = self.cores[role].store
        assert isinstance(store, SqliteStore)
        return store

    def keep(self, role: str, publications: list[Publication]) -> None:
        """Put what an aggregator publishes where it belongs."""
        for publication in publications:
            if "/cohort/" in publication.topic:
                assert not publication.retain
                self.lines[role].append(publication)
            else:
                self.told.append(publication)

    def send(self, device: str, raw: bytes, roles: tuple[str, ...] = ROLES) -> list[Receipt]:
        """A report reaches these aggregators; their receipts."""
        self.ids.add(report_id(raw))
        return [self.give(role, topic(self.task.name, "report", device), raw) for role in roles]

    def give(self, role: str, place: str, raw: bytes) -> Any:
        """A message reaches an aggregator; its receipt, if it has answered with one."""
        core = self.cores[role]
        core.take(place, raw)
        before = len(self.told)
        self.keep(role, core.commit(self.now))
        receipts = [p for p in self.told[before:] if "/receipt/" in p.topic]
        return decode(receipts[-1].payload, Receipt) if receipts else None

    def tick(self, seconds: float = 5.0) -> None:
        """Time goes by: the leader proposes what is due."""
        self.now += seconds
        for role in ROLES:
            self.keep(role, self.cores[role].tick(self.now))

    def talk(self) -> None:
        """Everything that was said arrives, until nobody has anything to say."""
        while any(self.lines.values()):
            for role in ROLES:
                other = LEADER if role == HELPER else HELPER
                for said in self.lines[other]:
                    self.cores[role].take(said.topic, said.payload)
                self.lines[other] = []
                self.keep(role, self.cores[role].commit(self.now))

    def opened(self) -> dict[tuple[int, int, int], Integers]:
        """The sums that were opened, by round, group and number."""
        federation = self.cores[LEADER].federations[self.task.name]
        sums = {}
        for row in self.store(LEADER).opened_cohorts(federation.key, "final"):
            ring = ring_of(self.task, federation.layouts["final"].stage)
            values = opened(ring, ring.unpack(row.own), ring.unpack(row.other))
            sums[row.pool.round, row.pool.group, row.number] = values
        return sums

    def opened_ids(self, role: str) -> dict[tuple[str, int, int], set[bytes]]:
        """Ids that an aggregator has opened, by stage, round and number."""
        found: dict[tuple[str, int, int], set[bytes]] = {}
        rows = self.store(role)._db.execute("SELECT stage, round, number, id FROM opened")
        for stage, round_, number, id in rows:
            found.setdefault((stage, round_, number), set()).add(id)
        return found
