"""What is to be explained: classes or a number, by all values of its column.

Which classes there are is public knowledge: a task names them all. Where a number is cut is not,
and is read off the public sample (`sim_devices.own.sample`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.tasks.slices import quantity
from fsir.arrays import Flags
from fsir.errors import FsirError
from fsir.limits import MAX_SLICES
from fsir.tables.columns import column
from fsir.tables.csv_table import NO_ANSWER
from sim_devices.own.rows import Rows


@dataclass(frozen=True, eq=False)
class Responses:
    """The response of each row; of those that have one."""

    classes: tuple[str, ...]  # empty: a number
    y: NDArray[Any]  # labels, or numbers
    known: Flags
    notes: tuple[str, ...] = ()


def read_responses(rows: Rows) -> Responses:
    """Words and few whole numbers are classes; `NA` and such are gaps, as to who writes a task."""
    texts = rows.responses
    numbers = column(texts, list(range(len(texts))))
    known = np.array([text.lower() not in NO_ANSWER for text in texts], dtype=bool)
    if numbers.reason is None:
        known = ~np.isnan(numbers.values)
    lost = int((~known).sum())
    notes = [f"{lost} rows left out: they have no {rows.response}"] if lost else []
    answers = [text for text, answered in zip(texts, known.tolist(), strict=True) if answered]
    asked = rows.said("response", rows.response)
    if not answers:
        raise FsirError(f"{asked}: no row has a value there; name the column to be explained")
    if quantity(answers) is not None:
        return Responses((), numbers.values, known, tuple(notes))
    classes = tuple(sorted(set(answers)))
    _check(classes, asked, len(answers))
    if numbers.reason is None:
        notes.append(f"{rows.response} has {len(classes)} whole numbers: they are taken as classes")
    return Responses(classes, np.array(texts), known, tuple(notes))


def _check(classes: tuple[str, ...], asked: str, rows: int) -> None:
    if len(classes) == 1:
        raise FsirError(
            f"{asked}: every row has the value {classes[0]!r}; name a column with at least two "
            "classes, or with numbers"
        )
    if len(classes) > MAX_SLICES:
        raise FsirError(
            f"{asked}: {len(classes)} different texts in {rows} rows, as {classes[0]!r}, and at "
            f"most {MAX_SLICES} can be classes; name another column"
        )
