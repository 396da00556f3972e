"""The checks of what a task says about rounds, and about how long its estimate remembers them."""

from __future__ import annotations

from fsir.errors import TaskError
from fsir.fields import Table
from fsir.limits import MAX_ROUNDS
from fsir.task.task import CORRELATED, MEMORIES, OLDEST_VERSION, TRIMMED, Estimate, Task

_WITH_SPAN = ("window", "decay")


def read_estimate(part: Table) -> Estimate:
    """The section `estimate`."""
    memory = part.choice("memory", "auto", MEMORIES)
    span = part.optional_whole("span", low=1, high=MAX_ROUNDS)
    part.done()
    if (memory in _WITH_SPAN) != (span is not None):
        remedy = (
            f"say how many rounds memory = {memory!r} spans"
            if span is None
            else f"memory = {memory!r} has no span; leave it out, or use 'window' or 'decay'"
        )
        raise part.error("span", span, remedy)
    return Estimate(memory=memory, span=span)


def check_rounds(task: Task) -> None:
    """Whether what is said about rounds fits together, and the rest of the task."""
    report = task.report
    if report.start is not None and report.every is None:
        remedy = "rounds that start at a time also need their length; add report.every"
        raise TaskError("report.start", report.start, remedy)
    if task.rounds == 1:
        _check_single(task)
        return
    if report.deadline is not None:
        remedy = "ends the only round; leave out report.rounds, or give records instead"
        raise TaskError("report.deadline", report.deadline, remedy)
    if task.version == OLDEST_VERSION:
        remedy = "tasks of version 1 have one round; leave it out, or write version = 2"
        raise TaskError("report.rounds", report.rounds, remedy)
    if task.aggregation == TRIMMED:
        remedy = "trims the reports of one round; leave out report.rounds, or use 'sum'"
        raise TaskError("aggregation", task.aggregation, remedy)
    if task.privacy.noise == CORRELATED and not task.correlates_noise:
        remedy = f"{task.privacy.mechanism!r} has none of it; leave it out, or use 'gaussian'"
        raise TaskError("privacy.noise", task.privacy.noise, remedy)


def _check_single(task: Task) -> None:
    several = {
        "report.every": task.report.every,
        "privacy.noise": task.privacy.noise,
        "estimate.memory": None if task.estimate is None else task.estimate.memory,
    }
    for field, value in several.items():
        if value is not None:
            remedy = "is about several rounds, and there is one; add report.rounds, or leave it out"
            raise TaskError(field, value, remedy)
