"""Is everything that an agent hands out in its ledger, before it is handed out?

The state file is opened a second time, by somebody who only reads, at the moment when the agent
returns what is to be sent: what that reader does not see is lost in a power cut, and the device
would draw its noise again.
"""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

from edge_agent.agent import Agent
from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Report, report_id
from sim_devices.audit.shipped.agent import feed, sent, started, tell_active
from sim_devices.audit.shipped.reference import Stream, expected, stage_names

# The sampler's error is paid out of the budget, and takes less than this of mu.
_TOLERANCE = 1e-3


def wrong_books(task: Task, stream: Stream) -> list[str]:
    """What is missing or wrong in the ledger of one agent, in words; empty if nothing is."""
    with TemporaryDirectory() as place:
        directory = Path(place)
        X, y = stream
        faults: list[str] = []
        handed_out: dict[bytes, tuple[int, int]] = {}
        with started(task, directory=directory) as agent:
            used = feed(agent, X, y)
            faults += _look(agent, task, stream, directory, handed_out, used)
            if tell_active(agent, task):
                more = feed(agent, X[used:], y[used:])
                faults += _look(agent, task, stream, directory, handed_out, more or used)
        rows = _ledger(directory)
        if len(handed_out) != len(stage_names(task)):
            faults.append(
                f"{len(handed_out)} different reports for {len(stage_names(task))} stages"
            )
        if len(rows) != len(handed_out):
            faults.append(f"the ledger has {len(rows)} rows for {len(handed_out)} reports")
        faults += _after_a_restart(task, directory, handed_out)
        return faults


def _look(
    agent: Agent,
    task: Task,
    stream: Stream,
    directory: Path,
    handed_out: dict[bytes, tuple[int, int]],
    records: int,
) -> list[str]:
    """Take what the agent hands out, and look each report up at once."""
    last = agent.position.ordinal
    faults = []
    for now in (0.0, 20.0, 2000.0):
        payloads = [message for message in sent(agent, task, (now,)) if message not in handed_out]
        rows = {row.report: row for row in _ledger(directory)}
        for raw in payloads:
            handed_out[raw] = (last - records + 1, last)
            faults += _compared(task, stream, raw, rows.get(report_id(raw)), handed_out[raw])
    return faults


def _compared(
    task: Task, stream: Stream, raw: bytes, row: LedgerRow | None, interval: tuple[int, int]
) -> list[str]:
    report = decode(raw, Report)
    who = f"the {report.stage} report"
    if row is None:
        return [f"{who} is handed out before it is in the ledger"]
    mu = expected(task, report.stage, stream).mu
    right = {
        "digest": row.digest == task.digest,
        "stage": row.stage == report.stage,
        f"n = {row.n}": row.n == report.n,
        f"mu = {row.mu:.6g} instead of {mu:.6g}": math.isclose(row.mu, mu, rel_tol=_TOLERANCE),
        f"records {row.first} to {row.last} instead of {interval[0]} to {interval[1]}": (
            row.first <= interval[0] and row.last >= interval[1]
        ),
        f"epsilon = {row.epsilon:g}": row.epsilon == task.privacy.epsilon,
        f"delta = {row.delta:g}": row.delta == task.privacy.delta,
    }
    return [f"{who} is in the ledger with {what}" for what, holds in right.items() if not holds]


def _after_a_restart(
    task: Task, directory: Path, handed_out: dict[bytes, tuple[int, int]]
) -> list[str]:
    """An agent that starts anew sends the same bytes, and books nothing."""
    before = len(_ledger(directory))
    with started(task, directory=directory) as agent:
        again = set(sent(agent, task))
    faults = [] if again == set(handed_out) else ["after a restart other bytes are sent"]
    if len(_ledger(directory)) != before:
        faults.append("after a restart the ledger has other rows")
    return faults


def _ledger(directory: Path) -> list[LedgerRow]:
    """The ledger as somebody else sees it."""
    state = State(directory, None, read_only=True)
    try:
        return state.ledger()
    finally:
        state.close()
