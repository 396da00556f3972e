"""Why a record cannot be learned from, where the fault lies, and what to do about it.

What is said may end up in a log that others read: it names columns and kinds of values, never a
value or a label, which are part of a record.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from edge_agent.labels.timeline import NO_LABEL
from edge_agent.records import UNREADABLE, Record
from edge_agent.sources import name_of_file
from fsir.errors import meant, some
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task

MISSING = "missing feature"
NOT_A_NUMBER = "not a number"
NOT_FINITE = "not finite"
UNKNOWN_RESPONSE = "unknown response"
NO_LABEL_YET = "no label"
_PRESS = "say what you are doing (fsir-agent label), or let the records bring it; see --labels"


class Refusal(NamedTuple):
    """Why one record was refused."""

    reason: str  # as it is counted
    column: str = ""  # where the fault lies
    detail: str = ""  # what is wrong there
    remedy: str = ""

    def __str__(self) -> str:
        return "; ".join(part for part in (self.detail or self.reason, self.remedy) if part)


_UNREADABLE = Refusal(
    UNREADABLE,
    detail="nothing that can be read as a record",
    remedy="the source says in its log what is wrong with it",
)


def anew(source: str, task: str, *, reported: bool = False) -> str:
    """How to begin anew with a source that was mended, the agent being stopped.

    A file of which something was reported cannot be read again: what comes next in it can.

    >>> anew("csv:/srv/walk.csv", "activity"), anew("mqtt:kitchen", "activity")
    ('fsir-agent rewind --source csv:/srv/walk.csv', 'fsir-agent forget --task activity')
    """
    if reported or name_of_file(source) is None:
        return f"fsir-agent forget --task {task}"
    return f"fsir-agent rewind --source {source}"


def refusal(task: Task, names: Sequence[str], record: Record) -> Refusal | None:
    """Why a record is refused under a task that asks for these features; None if it is not."""
    if record.fault:
        return _UNREADABLE if record.fault == UNREADABLE else Refusal(record.fault)
    if isinstance(record.y, str) and record.y == NO_LABEL:
        return Refusal(NO_LABEL_YET, detail="nobody has said what was done then", remedy=_PRESS)
    return _about_response(task, record) or about_values(names, record.x)


def _about_response(task: Task, record: Record) -> Refusal | None:
    name = task.response.name
    y = record.x.get(name) if record.y is None else record.y
    if task.slicing.slice_of(y) != UNKNOWN:
        return None
    if record.y is None and name not in record.x:
        return _missing(UNKNOWN_RESPONSE, "the response", name, record.x)
    if y in (None, NO_LABEL):
        return Refusal(UNKNOWN_RESPONSE, name, f"{name!r}, the response, is empty", _PRESS)
    if task.response.cuts:
        detail = f"{name!r}, the response: {kind_of(y)} where a number should be"
        return Refusal(UNKNOWN_RESPONSE, name, detail, "let that column hold numbers")
    detail = f"{name!r}, the response, has a label that the task does not know"
    return Refusal(UNKNOWN_RESPONSE, name, detail, f"known are {', '.join(task.response.classes)}")


def about_values(names: Sequence[str], values: Any) -> Refusal | None:
    """What is wrong with the features of a record."""
    if missing := [name for name in names if name not in values]:
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        return _missing(MISSING, f"a feature of the task{more}", missing[0], values)
    numbers = {name: number_of(values[name]) for name in names}
    for name, number in numbers.items():
        if number is None:
            detail = f"{name!r}: {kind_of(values[name])} where a number should be"
            return Refusal(NOT_A_NUMBER, name, detail, "let that column hold numbers alone")
    for name, number in numbers.items():
        if number is not None and not math.isfinite(number):
            detail = f"{name!r}: {kind_of(values[name])} where a finite number should be"
            return Refusal(NOT_FINITE, name, detail, "leave such records out at the source")
    return None


def _missing(reason: str, what: str, name: str, there: Collection[str]) -> Refusal:
    near = meant(name, there)
    remedy = f"is {near!r} what is meant? rename it" if near else f"there are {some(there)}"
    return Refusal(reason, name, f"there is no {name!r}, {what}", remedy)


def number_of(value: Any) -> float | None:
    """The number that a learner would take a value for; NaN for none at all."""
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def kind_of(value: Any) -> str:
    """What kind of value it is, and not which one.

    >>> [kind_of(value) for value in ("warm", " ", None, float("nan"), [1])]
    ['a text', 'nothing', 'nothing', 'NaN', 'a list or an object']
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return "nothing"
    number = number_of(value)
    if number is None:
        return "a text" if isinstance(value, str) else "a list or an object"
    if math.isnan(number):
        return "NaN"
    return "a number" if math.isfinite(number) else "infinity"
