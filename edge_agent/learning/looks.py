"""What a device tells its owner about the records of the report that comes next."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from edge_agent.learning.holding import faults, ways_out
from edge_agent.learning.learner import Learner
from edge_agent.learning.rounds import ended, next_turn
from edge_agent.learning.rule import ReportRule
from edge_agent.learning.stages import next_stage, restored_draft
from edge_agent.state.made import Made
from edge_agent.state.rows import Pin
from edge_agent.state.state import State
from edge_agent.watch.faults import Fault
from edge_agent.watch.threshold import Certain
from fsir.privacy.plan import FINAL, report_size
from fsir.task.task import Task

FEWEST_RECORDS = 50  # before that anything may be chance


def suspicions(task: Task, learner: Learner | None) -> list[Fault]:
    """What is plainly wrong with the records so far; one class may be all there is at first."""
    if learner is None or learner.n < FEWEST_RECORDS:
        return []
    found = faults(task, learner, Certain())
    if 2 * learner.n < report_size(task):
        found = [fault for fault in found if not fault.early]
    return [fault for fault in found if fault.margin < 0][:1]


def lateness(task: Task, n: int, second: bool, now: float) -> str:
    """Why there can be no report any more; empty if there can."""
    rule = ReportRule(task, lambda: now)
    if next_turn(task, {}, now) is None:
        return ended(task)
    return rule.too_late(n) if rule.is_too_late(n, second) else ""


def looks(
    state: State,
    pin: Pin,
    task: Task,
    made: Made,
    clock: Callable[[], float] = time.time,
) -> dict[str, Any]:
    """Why a report is held or cannot be, whether it was released; and what is suspicious.

    All from a state file. Counts of refused records outlive the report.
    """
    hold = None if pin.stopped else state.holds.of(pin.name)  # there is nothing to be done then
    stage = None if pin.stopped else next_stage(task, made, pin.active)
    learner = restored_draft(state, task, stage, state.progress(pin.name)).learner
    refused = state.refused(pin.name) if learner is None else dict(learner.refused)
    found: dict[str, Any] = {
        "refused": refused,
        "held": "" if hold is None else hold.why,
        "released": hold is not None and (hold.released or state.holds.requested(hold)),
        "suspicious": [fault.text for fault in suspicions(task, learner)],
    }
    if hold is not None:
        found |= {
            "state": state.where,
            "lasts": state.lasts(pin.name),
            "reported": state.has_reported(pin.source),
        }
    elif learner is not None and FINAL not in made:
        late = lateness(task, learner.n, pin.active is not None, clock())
        found |= {"late": late} if late else {}
    return found


def remarks(entry: dict[str, Any]) -> list[str]:
    """The same in words."""
    if not entry.get("held"):
        late = [f"too late: {entry['late']}"] if entry.get("late") else []
        return late + [f"look at your records: {text}" for text in entry.get("suspicious", ())]
    if entry["released"]:
        when = "as soon as the agent runs" if entry["lasts"] else "by the agent that holds it"
        return [f"released, and sent {when}: {entry['held']}"]
    begin, send = ways_out(
        entry["task"],
        entry["source"],
        entry["state"],
        lasts=entry["lasts"],
        reported=entry.get("reported", False),
    )
    return [f"HELD, and nothing is sent: {entry['held']} {begin} {send}"]
