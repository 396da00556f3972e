"""What a device tells its owner about the records of the report that comes next."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from edge_agent.learning.holding import faults
from edge_agent.learning.learner import Learner
from edge_agent.learning.stages import next_stage, restored_draft
from edge_agent.state.rows import Pin
from edge_agent.state.state import State
from edge_agent.watch.faults import Fault
from edge_agent.watch.refusals import anew
from edge_agent.watch.threshold import Certain
from fsir.privacy.plan import report_size
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


def looks(state: State, pin: Pin, task: Task, made: Collection[str]) -> dict[str, Any]:
    """Why a report is held, and whether it was released; and what is suspicious, from a state file.

    Counts of refused records outlive the report.
    """
    hold = state.holds.of(pin.name)
    stage = None if pin.stopped else next_stage(task, made, pin.active)
    learner = restored_draft(state, task, stage, state.progress(pin.name)).learner
    refused = state.refused(pin.name) if learner is None else dict(learner.refused)
    return {
        "refused": refused,
        "held": "" if hold is None else hold.why,
        "released": hold is not None and (hold.released or state.holds.requested(hold)),
        "suspicious": [fault.text for fault in suspicions(task, learner)],
    }


def remarks(entry: dict[str, Any]) -> list[str]:
    """The same in words."""
    if not entry.get("held"):
        return [f"look at your records: {text}" for text in entry.get("suspicious", ())]
    if entry["released"]:
        return [f"released, and sent as soon as the agent runs: {entry['held']}"]
    return [
        f"HELD, and nothing is sent: {entry['held']} Mend the source and begin anew (stop the "
        f"agent, then {anew(entry['source'], entry['task'])}), or send it as it is "
        f"(fsir-agent release {entry['task']})"
    ]
