"""A device that reports in rounds, and an aggregator that counts each of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from edge_agent.agent import Agent
from edge_agent.consent.policy import Policy
from edge_agent.exchange.outbox import Publish
from edge_agent.state.rows import LedgerRow
from fsir.limits import MAX_ROUNDS
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import SCREENING, final_stage, first_stage
from fsir.privacy.release import release
from fsir.privacy.rounds import correlated
from fsir.privacy.rounds.correlated import KEY_BYTES, key_for, round_noise
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.world import data, receipt, records
from tests.fsir.tasks import task

PATIENT = Policy(rounds=MAX_ROUNDS)
ACTIVE = ("x1", "x4")


def several(rounds: int = 3, records: int = 20, p: int = 3, **changes: Any) -> Task:
    """A small task of several rounds."""
    report = {"records": records, "rounds": rounds, **changes.pop("report", {})}
    return task(p, report=report, **changes)


def learn_block(agent: Agent, seed: int = 0) -> int:
    """Offer the next records of a stream until no more are wanted; returns how many."""
    assert agent.task is not None
    start = agent.position.ordinal + 1
    offered = records(agent.task, 2 * (agent.task.report.records or 0), start, seed)
    learned = [agent.learn(record) for record in offered if agent.wants_records]
    return sum(learned)


def answered(agent: Agent, now: float, status: str = "counted", reason: str = "") -> list[Publish]:
    """What the device sends now; the aggregator answers all of it."""
    assert agent.task is not None
    sent = agent.outgoing(now)
    for message in sent:
        agent.receive(*receipt(agent.task, [message], status, reason))
    return sent


def expected_blocks(of: Task, row: LedgerRow, key: bytes, seed: int = 0) -> list[Any]:
    """The numbers that a ledger row stands for, from its records and the key alone."""
    screened = of.screening is not None and row.stage != SCREENING
    stage = final_stage(of, of.features.indices(ACTIVE)) if screened else first_stage(of)
    X, y = data(of, row.last + 1, seed)
    moments = Moments(of, stage)
    moments.learn_many(X[row.first :, list(stage.features)], y[row.first :])
    return list(release(moments, round_noise(SystemNoise(), stage, row.round, key)).blocks)


def is_made_of(of: Task, raw: bytes, row: LedgerRow, key: bytes) -> bool:
    """Whether a report holds what its ledger row says, bit for bit."""
    report = decode(raw, Report)
    expected = expected_blocks(of, row, key)
    pairs = zip(report.blocks, expected, strict=True)
    same = all(np.array_equal(found, right) for found, right in pairs)
    return same and (report.stage, report.round, report.n) == (row.stage, row.round, row.n)


@contextmanager
def drawn_keys() -> Iterator[list[bytes]]:
    """Every key that a device draws meanwhile; the disk may have denied some."""
    keys: list[bytes] = []

    def noted(round: int, earlier: bytes = b"") -> bytes:
        keys.append(key_for(round, earlier))
        return keys[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlated, "key_for", noted)
        yield keys


def are_made_of(
    of: Task,
    made: Mapping[int, tuple[LedgerRow, bytes]],
    keys: list[bytes],
    holds: Callable[[Task, bytes, LedgerRow, bytes], bool] = is_made_of,
) -> bool:
    """Whether these rounds hold what their ledger rows say, each with the key of those before."""
    earlier = b""
    for _, (row, raw) in sorted(made.items()):
        fitting = [
            key for key in keys if len(key) == KEY_BYTES * row.round and key.startswith(earlier)
        ]
        used = [key for key in fitting if holds(of, raw, row, key)]
        if len(used) != 1:
            return False
        (earlier,) = used
    return True


class Counted:
    """The aggregator's side: every report that came, and the one that counts."""

    def __init__(self) -> None:
        self.came: dict[tuple[str, int], set[bytes]] = {}

    def take(self, sent: Iterable[Publish]) -> list[Publish]:
        """Count what is new; returns the reports among it."""
        reports = [message for message in sent if message.is_report]
        for message in reports:
            report = decode(message.payload, Report)
            self.came.setdefault((report.stage, report.round), set()).add(message.payload)
        return reports
