"""What is wrong with the records of a trial, one sentence each, with what to do about it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from edge_agent.watch.refusals import NO_LABEL_YET, UNKNOWN_RESPONSE
from edge_agent.watch.trial.features import FEWEST_ROWS, HALF, Shape, exchanged, units
from edge_agent.watch.trial.labels import Rule, shares
from edge_agent.watch.trial.seen import Refused, Seen
from fsir.errors import meant, some
from fsir.task.task import Task

MOST_REFUSED = 0.1  # of the records, for a reason that is not the owner's to decide
MOST_CONSTANT = 0.02  # of the features, or one; recordings of one hour may hold that many still
# What tables are separated by that our reader takes for something else.
_SEPARATORS = {" ": "spaces", ":": "colons", "~": "tildes", "^": "carets"}


@dataclass(frozen=True)
class Place:
    """Where a record stands in its source."""

    record: int
    line: int | None = None  # of a file, from 1

    def __str__(self) -> str:
        return f"record {self.record}" + (f", line {self.line}" if self.line else "")


def about_columns(seen: Seen) -> Iterator[str]:
    """Columns that are not there, or there twice."""
    if not seen.records:
        yield "no record came: does the source hold any, and does it send?"
        return
    if separator := _separator(seen):
        yield (
            f"the names of the columns are separated by {separator}, which is not how the table is "
            "read; write commas"
        )
        return
    if not seen.columns:
        yield "no record could be read: is the source a table, or JSON lines, as its address says?"
    elif missing := seen.missing:
        others = [name for name in seen.columns if name not in _needed(seen.task)]
        are = "are" if len(missing) > 1 else "is"
        yield (
            f"{len(missing)} of {len(_needed(seen.task))} columns {are} missing: "
            f"{some(_named(name, others) for name in missing)}; rename them in the source"
        )
    for name, count in Counter(seen.header).items():
        if count > 1:
            yield f"the header names {name!r} {count} times; give every column a name of its own"


def _separator(seen: Seen) -> str:
    """What separates the names of the header, if it was taken for something else."""
    text = ",".join(seen.header)
    needed = set(_needed(seen.task))
    if 2 * len(needed & set(seen.header)) >= len(needed):
        return ""
    for sign, name in _SEPARATORS.items():
        if 2 * len(needed & {part.strip() for part in text.split(sign)}) >= len(needed):
            return name
    return ""


def _needed(task: Task) -> tuple[str, ...]:
    return (*task.features.names, task.response.name)


def _named(name: str, others: list[str]) -> str:
    near = meant(name, others)
    return f"{name!r} (is {near!r} meant?)" if near else repr(name)


def about_refused(seen: Seen, places: dict[int, Place]) -> Iterator[str]:
    """Records that cannot be used, where it is not a missing column."""
    missing = set(seen.missing)
    for reason in dict.fromkeys(reason for reason, _ in seen.refused):
        alike = [
            one
            for one in seen.refused.values()
            if one.refusal.reason == reason and one.refusal.column not in missing
        ]
        count = sum(one.count for one in alike)
        if not seen.columns or reason == NO_LABEL_YET or count <= MOST_REFUSED * seen.records:
            continue
        worst = max(alike, key=lambda one: one.count)
        others = f" (and {len(alike) - 1} other columns)" if len(alike) > 1 else ""
        yield (
            f"{count} of {seen.records} records cannot be used: {_detail(seen, worst)}{others}; "
            f"first in {places[worst.example.position.ordinal]}"
        )


def _detail(seen: Seen, refused: Refused) -> str:
    why = refused.refusal
    if why.reason != UNKNOWN_RESPONSE or not seen.unknown:
        return str(why)
    known = seen.task.response.classes
    near = dict.fromkeys(name for label in seen.unknown if (name := meant(label, known)))
    hint = f"; perhaps another spelling of {some(near)}" if near else ""
    return f"{why}{hint}"


def about_values(task: Task, seen: Seen, looks: Shape) -> Iterator[str]:
    """Values that are not where the task expects them."""
    rows = seen.rows
    told: set[str] = set()
    for factor, names in units(task, rows, looks).items():
        told |= set(names)
        yield f"{some(names)}: {factor}? give the values in the unit that the task was made with"
    far = [name for name, share in zip(looks.names, looks.far, strict=True) if share > HALF]
    if left := [name for name in far if name not in told]:
        told |= set(left)
        yield (
            f"{some(left)}: far outside of what the task expects in most records; "
            "is it the right column, and its unit?"
        )
    stuck = [name for name, never in zip(looks.names, looks.constant, strict=True) if never]
    if len(stuck) >= max(1, math.ceil(MOST_CONSTANT * task.p)):
        told |= set(stuck)
        yield f"{some(stuck)}: the same value in all {len(rows)} records; is a sensor stuck?"


def about_places(task: Task, looks: Shape, rule: Rule | None) -> Iterator[str]:
    """Columns that stand in each other's place."""
    if pairs := exchanged(task, looks, suspicious=rule is not None and rule.fails):
        named = [f"{one} and {other}" for one, other in pairs]
        yield (
            f"{some(named)}: each fits in the other's place and neither in its own; are columns "
            "exchanged, or axes turned?"
        )


def about_labels(task: Task, seen: Seen, rule: Rule | None) -> Iterator[str]:
    """Responses that are not what the task expects."""
    _, slices = seen.labelled
    found = [label for label, share in shares(task, slices).items() if share > 0]
    kind = "class" if task.response.classes else "interval"
    if len(found) == 1 and len(slices) >= FEWEST_ROWS:
        yield (
            f"all {len(slices)} records are of one {kind} of {task.response.name!r}, "
            f"{found[0]!r}; the task tells {task.slicing.count} apart: are the labels right, "
            "and is the source long enough?"
        )
    elif rule is not None and rule.fails:
        yield (
            f"the labels do not fit the records: what is public names {rule.right:.0%} of them "
            f"rightly, guessing {rule.guessing:.0%}, and it should be near {rule.public:.0%}; "
            f"does {task.response.name!r} stand beside its own record, and are the columns the "
            "right ones?"
        )
