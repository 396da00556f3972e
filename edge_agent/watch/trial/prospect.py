"""When the report of a trial would be due, and what it would give away."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from edge_agent.consent.policy import Policy
from edge_agent.watch.cost import with_hold
from edge_agent.watch.trial.seen import Seen
from edge_agent.watch.trial.times import clock, per_hour
from fsir.errors import meant
from fsir.privacy.plan import all_stages, minimum_size, report_size
from fsir.task.task import Task
from fsir.wire.length import report_bytes

Prospect = dict[str, Any]


def pace(task: Task, times: Sequence[float]) -> Prospect:
    """How fast records come, and when the report is due."""
    unit = clock(times)
    rate = per_hour([seconds / (1.0 if unit is None else unit[1]) for seconds in times])
    size = report_size(task)
    return {
        "records_per_hour": rate,
        "of": size,
        "due_hours": None if rate is None else size / rate,
        "deadline": task.report.deadline,
    }


def about_time(column: str | None, seen: Seen, times: Sequence[float]) -> Iterator[str]:
    """What is wrong with the clock of the records, in the column that was named."""
    if column is not None and not times and seen.records:
        near = meant(column, seen.columns)
        there = f"is {near!r} meant?" if near else "name the column that holds times"
        yield f"--time-column {column}: no record has a time there; {there}"
    if column is not None and (unit := clock(times)) is not None:
        name, by = unit
        yield (
            f"--time-column {column}: these are {name} since 1970, and the agent takes seconds: "
            f"it would replay {by:g} times too slowly; divide them by {by:g}"
        )


def about_consent(task: Task, reasons: Sequence[str]) -> Iterator[str]:
    """Why there would be no report, whatever the records are."""
    deadline = task.report.deadline
    if deadline is not None and deadline <= time.time():
        yield (
            f"the deadline of the task was {_minute(deadline)}: a device that has not at least "
            f"{minimum_size(task)} records by then makes no report"
        )
    yield from (f"this device would refuse the task: {reason}" for reason in reasons)


def _minute(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def report(task: Task, policy: Policy, reasons: Sequence[str]) -> Prospect:
    """What would leave the device, and what that costs."""
    stages = all_stages(task)
    together = with_hold(task, policy)
    return {
        "epsilon": task.privacy.epsilon,
        "delta": task.privacy.delta,
        "with_hold": None if together == math.inf else together,
        "numbers": sum(sum(stage.sizes) for stage in stages),
        "bytes": sum(report_bytes(stage) for stage in stages),
        "accepted": not reasons,
    }


# --- in words -------------------------------------------------------------------------------------


def pace_in_words(pace: Prospect) -> str:
    """For people."""
    if pace["deadline"] is not None:
        return f"the report leaves at {_minute(pace['deadline'])}"
    if pace["records_per_hour"] is None:
        return (
            "not known: the source does not say when records were made (--time-column); "
            f"the report leaves after {pace['of']} of them"
        )
    hours = pace["due_hours"]
    due = f"{60 * hours:.0f} minutes" if hours < 2 else f"{hours:.1f} hours"
    return (
        f"{pace['records_per_hour']:.4g} records an hour: "
        f"the report, about {pace['of']}, would be due after {due}"
    )


def report_in_words(report: Prospect) -> str:
    """For people."""
    hold = ""
    if report["with_hold"] is not None:
        hold = f", {report['with_hold']:.3g} with the decision whether it is held"
    return (
        f"epsilon {report['epsilon']:g} at delta {report['delta']:g}{hold}: "
        f"{report['numbers']} noisy numbers, about {report['bytes']} bytes; "
        f"fsir-agent check says more"
    )
