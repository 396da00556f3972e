"""Rounds as the shipped agent makes them: started anew before each, answered after each.

Its published integers must have the noise of theorem 13, so that a key which is lost, changed or
used for two rounds shows; and its ledger, read by somebody else at the moment when a report is
handed out, must name the round, its block of records and what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from edge_agent.agent import Agent
from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State
from fsir.arrays import Matrix
from fsir.privacy.plan import FINAL, report_size
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, Report, Verdict, encode, report_id, topic
from sim_devices.audit.finding import Bound, Finding
from sim_devices.audit.pairs import AuditError, Records
from sim_devices.audit.rounds.questions import blocks_of, records_of, task_of
from sim_devices.audit.shipped.agent import DEVICE, feed, sent, started
from sim_devices.audit.shipped.reference import total_mu

_ROUNDS = 4
# The sampler's error is paid out of the budget, and takes less than this of mu.
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Made:
    """One round: what was handed out, and the ledger at that moment."""

    report: Report
    raw: bytes
    ledger: list[LedgerRow]


def by_agent(task: Task, records: Records) -> Matrix:
    """The integers of all rounds of an agent."""
    with TemporaryDirectory() as place:
        made = list(_rounds(task, records, Path(place)))
    return np.array([np.concatenate(one.report.blocks) for one in made])


def of_books() -> Finding:
    """The ledger of an agent over all its rounds."""
    task = task_of(_ROUNDS)
    with TemporaryDirectory() as place:
        made = list(_rounds(task, records_of(task), Path(place)))
        faults = [fault for t, one in enumerate(made, 1) for fault in _wrong(task, t, one)]
        with started(task, directory=Path(place)) as agent:
            more = records_of(task)
            if feed(agent, more.X, _labels(more)) or sent(agent, task):
                faults.append(f"there is a round after the last, number {_ROUNDS}")
    return Finding(
        mechanism="agent",
        pair="books of rounds",
        epsilon=task.privacy.epsilon,
        delta=task.privacy.delta,
        bound=Bound(0.0, 0.0, 1.0, "the ledger is read, and nothing else"),
        faults=tuple(faults),
    )


def _rounds(task: Task, records: Records, directory: Path) -> Iterator[Made]:
    for block in blocks_of(task, records):
        with started(task, directory=directory) as agent:
            feed(agent, block.X, _labels(block))
            raws = dict.fromkeys(sent(agent, task))
            if len(raws) != 1:
                raise AuditError(f"{len(raws)} different reports of a round; {agent.reason}")
            (raw,) = raws
            made = Made(decode(raw, Report), raw, _ledger(directory))
            _answer(agent, task, made)
        yield made


def _labels(records: Records) -> list[str]:
    return [str(h) for h in records.slices]


def _answer(agent: Agent, task: Task, made: Made) -> None:
    """The receipt of an aggregator that has counted the report."""
    verdict = Verdict(report_id(made.raw), "counted", round=made.report.round)
    receipt = Receipt(task.digest, DEVICE, {FINAL: verdict})
    agent.receive(topic(task.name, "receipt", DEVICE), encode(receipt))
    agent.outgoing(0.0)


def _ledger(directory: Path) -> list[LedgerRow]:
    state = State(directory, None, read_only=True)
    try:
        return state.ledger()
    finally:
        state.close()


def _wrong(task: Task, t: int, made: Made) -> list[str]:
    """What is missing or wrong about round t."""
    rows = {row.report: row for row in made.ledger}
    row = rows.get(report_id(made.raw))
    if row is None:
        return [f"round {t} is handed out before it is in the ledger"]
    n = report_size(task)
    mu = total_mu(task)
    values = sum(len(block) for block in made.report.blocks)
    right = {
        f"{len(made.ledger)} rows": len(made.ledger) == t,
        f"round {row.round}, {made.report.round} on the wire": row.round == made.report.round == t,
        f"mu = {row.mu:.6g} instead of {mu:.6g}": math.isclose(row.mu, mu, rel_tol=_TOLERANCE),
        f"records {row.first} to {row.last}": (row.first, row.last) == (n * (t - 1), n * t - 1),
        f"{row.numbers} numbers": row.numbers >= values * task.rounds,
    }
    return [f"round {t} is in the ledger with {what}" for what, holds in right.items() if not holds]
