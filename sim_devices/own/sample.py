"""The public sample: which features it has, and where it cuts the response, if that is a number.

Everything that is a choice is made here, on public rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.tasks.slices import FEWEST_RECORDS, cut_points
from fsir.arrays import Flags, Integers, Matrix
from fsir.errors import FsirError
from fsir.tables.columns import Column, cleaned, constants, copies
from fsir.task.slicing import Slicing
from sim_devices.own.responses import Responses
from sim_devices.own.rows import Feature, Rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """Public records, and what is read off them."""

    features: list[str]
    X: Matrix
    y: NDArray[Any]
    slicing: Slicing
    groups: Integers  # who each record is of
    left_out: dict[str, str]  # columns, with the reason
    notes: tuple[str, ...] = ()  # about rows


def short_of(responses: Responses, y: NDArray[Any], slices: int) -> str | None:
    """What a sample with these responses lacks for public centres, if it lacks anything."""
    if not responses.classes and len(y) < FEWEST_RECORDS * slices:
        return f"{FEWEST_RECORDS * slices} records for {slices} slices"
    slicing = _slicing(responses, y, slices)
    counts = np.bincount(slicing.slices_of(y), minlength=slicing.count)
    fewest = int(counts.argmin())
    if counts[fewest] >= FEWEST_RECORDS:
        return None
    what = "class" if slicing.classes else "the slice"
    return f"{FEWEST_RECORDS} records of {what} {slicing.labels[fewest]!r}"


def sample_of(rows: Rows, responses: Responses, people: Sequence[str], slices: int) -> Sample:
    """The rows of these devices that can be used, and of their columns those that can be."""
    public = rows.of(people) & responses.known
    found = cleaned({name: _column(rows, public, name) for name in rows.features})
    if rows.strict and found.reasons:
        name, reason = next(iter(found.reasons.items()))
        raise FsirError(
            f"{rows.said('features', name)}: it cannot be used, {reason} (in the public sample); "
            "leave it out or mend the table"
        )
    reasons = found.reasons | constants(found.names, found.X)
    varying = [k for k, name in enumerate(found.names) if name not in reasons]
    names = [found.names[k] for k in varying]
    X = found.X[:, varying]
    if names:
        reasons |= copies(names, X)
    kept = [k for k, name in enumerate(names) if name not in reasons]
    if not kept:
        raise _nothing_left(rows, reasons)
    used = np.flatnonzero(public)[found.rows]
    y = responses.y[used]
    return Sample(
        features=[names[k] for k in kept],
        X=X[:, kept],
        y=y,
        slicing=_slicing(responses, y, slices),
        groups=np.unique(np.array(rows.devices)[used], return_inverse=True)[1].astype(np.int64),
        left_out=reasons,
        notes=tuple(f"of the public sample, {note}" for note in found.notes),
    )


def _column(rows: Rows, public: Flags, name: str) -> Column:
    feature: Feature = rows.features[name]
    strange = next(((row, text) for row, text in feature.strange.items() if public[row]), None)
    if strange is None:
        return Column(feature.values[public])
    row, text = strange
    return Column(feature.values[public], f"not numbers: {text[:40]!r} ({rows.where(row)})")


def _slicing(responses: Responses, y: NDArray[Any], slices: int) -> Slicing:
    if responses.classes:
        return Slicing(classes=responses.classes)
    return cut_points(y, slices).slicing


def _nothing_left(rows: Rows, reasons: dict[str, str]) -> FsirError:
    first = "; ".join(f"{name} ({reason})" for name, reason in list(reasons.items())[:4])
    return FsirError(
        f"the public sample has no usable column of numbers beside {rows.response}: {first}. Give "
        "a table in which features are numbers and vary"
    )
