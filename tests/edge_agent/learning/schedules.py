"""Random faults of one device: full disks, denied commits, deaths between any two writes."""

from __future__ import annotations

import random
from contextlib import contextmanager, suppress

from edge_agent.agent import Phase
from edge_agent.errors import StorageError
from edge_agent.state.state import State
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import SCREENING
from tests.edge_agent.learning.rounds import (
    ACTIVE,
    PATIENT,
    Counted,
    are_made_of,
    is_made_of,
    several,
)
from tests.edge_agent.world import DEVICE, Welcome, active, receipt, records, simulated

ROUNDS = 4
RECORDS = 6
STEPS = 250
RULES = (None, "same", "fresh")
PACES = ({}, {"every": 500.0}, {"every": 2000.0, "start": 100})  # a history takes 7500 seconds


class DeathError(BaseException):
    """The process is gone."""


class Schedule:
    """One device through one random history; its state file survives, the agent does not."""

    kind = Welcome

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        rule = RULES[seed % 3]
        screening = {"records": rule, "keep": 2, "limit": 4, "final_norm": 1.5}
        changes = {} if rule is None else {"screening": screening}
        self.task = self.make_task(report=PACES[seed // 3 % 3], **changes)
        self.now = 0.0
        self.calm = True
        self.counted = Counted()
        self.answers: list[tuple[str, bytes]] = []
        self.stream = records(self.task, (ROUNDS + 1) * RECORDS)
        self.state = State(None, DEVICE, simulated=True)
        self._commit = self.state._db.transaction
        self.state._db.transaction = self.transaction
        self.boot()

    def make_task(self, **changes):
        return several(ROUNDS, RECORDS, 6, **changes)

    @contextmanager
    def transaction(self):
        fate = 1.0 if self.calm else self.rng.random()
        if fate < 0.08:
            raise StorageError("the disk is full")
        with self._commit():
            yield
            if fate < 0.12:
                raise DeathError
        if fate < 0.20:
            raise StorageError("the disk went away after the commit")
        if fate < 0.24:
            raise DeathError

    def boot(self) -> None:
        calm = self.calm
        self.calm = True
        self.agent = simulated(
            self.task,
            kind=self.kind,
            state=self.state,
            policy=PATIENT,
            noise=SystemNoise(),
            clock=lambda: self.now,
        )
        self.agent.connected(self.now)
        self.calm = calm

    def learn(self) -> None:
        for _ in range(self.rng.randint(1, RECORDS)):
            ordinal = self.agent.position.ordinal + 1
            if self.agent.wants_records and ordinal < len(self.stream):
                self.agent.learn(self.stream[ordinal])

    def send(self) -> None:
        for message in self.counted.take(self.agent.outgoing(self.now)):
            self.answers.append(receipt(self.task, [message]))

    def hear(self) -> None:
        if self.answers:  # also old ones, and again
            self.agent.receive(*self.rng.choice(self.answers[-3:]))

    def screen(self) -> None:
        if any(stage == SCREENING for stage, _ in self.counted.came):
            self.agent.receive(*active(self.task, *ACTIVE))

    def save(self) -> None:
        with suppress(StorageError):
            self.agent.checkpoint(leaving=self.rng.random() < 0.5)

    def step(self) -> None:
        deeds = [self.learn, self.learn, self.send, self.send, self.hear, self.save, self.screen]
        self.now += self.rng.choice([0.0, 1.0, 20.0, 100.0])
        try:
            if self.rng.random() < 0.05:
                raise DeathError
            self.rng.choice(deeds)()
        except DeathError:
            self.boot()

    def run(self) -> None:
        self.calm = False
        for _ in range(STEPS):
            self.step()
        self.calm = True
        for _ in range(200):
            if self.agent.phase is Phase.SERVING or self.agent.late:
                break
            self.now += 50.0
            for deed in (self.learn, self.send, self.screen, self.hear):
                deed()


def check_reports(schedule, keys, seed, made_of=is_made_of):
    """One set of bytes for each entry of the ledger, made of its records and its own noise."""
    task = schedule.task
    assert not schedule.agent.reason, seed
    ledger = {(row.stage, row.round): row for row in schedule.state.ledger()}
    came = schedule.counted.came
    assert set(came) == set(ledger), seed
    assert all(len(payloads) == 1 for payloads in came.values()), seed
    finals = {
        round: (ledger[stage, round], payload)
        for (stage, round), (payload,) in came.items()
        if stage != SCREENING  # whose noise comes from no key
    }
    assert are_made_of(task, finals, keys, made_of), seed
    check_intervals(task, list(ledger.values()), seed)
    return ledger, list(finals)


def check_intervals(task, rows, seed):
    """No record is passed by, and none is in two blocks, but for those of a first report."""
    same = task.screening is not None and not task.asks_for_fresh_records
    blocks = [(row.first, row.last) for row in rows if not (same and row.stage == SCREENING)]
    expected = [(k * RECORDS, (k + 1) * RECORDS - 1) for k in range(len(blocks))]
    assert blocks == expected, seed
    if same and rows[0].stage == SCREENING:
        assert (rows[0].first, rows[0].last) == (0, RECORDS - 1)
