"""The slices of a response, by a public sample: its classes, or cut points at its quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aggregator.tasks.sample import short
from fsir.arrays import Integers, Matrix
from fsir.errors import FsirError
from fsir.task.slicing import Slicing

FEW_CLASSES = 12  # whole numbers with at most so many different values are classes, not a quantity
FEWEST_RECORDS = 2  # of a slice, for it to have a centre


class Sliced(NamedTuple):
    """The slices of a response, and why these."""

    slicing: Slicing
    why: str


def slice_response(values: Sequence[str], count: int) -> Sliced:
    """Classes for words and few whole numbers; for other numbers about so many equal slices.

    >>> slice_response(["walk", "sit", "walk"], 8).slicing.classes
    ('sit', 'walk')
    >>> slice_response([f"{k / 100}" for k in range(100)], 2).slicing.cuts
    (0.495,)
    """
    numbers = _numbers(values)
    different = sorted(set(values))
    if numbers is None or (len(different) <= FEW_CLASSES and _are_whole(numbers)):
        return _classes(different)
    if not 2 <= count <= 256:
        raise FsirError(f"--slices {count}: between 2 and 256")
    cuts = np.unique([short(cut) for cut in np.quantile(numbers, np.arange(1, count) / count)])
    why = f"quantiles of the sample: {len(cuts) + 1} equal slices"
    return Sliced(Slicing(cuts=tuple(cuts.tolist())), why)


def slices_with_centres(sliced: Sliced, response: Sequence[str]) -> Integers:
    """The slice of each record; every one must have enough of them for a public centre."""
    slicing = sliced.slicing
    slices = slicing.slices_of(list(response))
    counts = np.bincount(slices, minlength=slicing.count)
    for label, records in zip(slicing.labels, counts.tolist(), strict=True):
        if records >= FEWEST_RECORDS:
            continue
        found = f"{records} public record{'' if records == 1 else 's'}"
        if slicing.classes:
            raise FsirError(
                f"class {label!r} has {found}, and a public centre takes {FEWEST_RECORDS} at "
                "least: add some of it to the sample, or leave its rows out, or write the task "
                "with --plain"
            )
        raise FsirError(
            f"the slice {label} has {found}, and a public centre takes {FEWEST_RECORDS} at least: "
            "lower --slices, or give a larger sample"
        )
    return slices


def _classes(different: list[str]) -> Sliced:
    if len(different) < 2:
        raise FsirError(
            f"the response has only the value {different[0]!r}; "
            "a sample must show at least two classes"
        )
    why = "every class that may occur: add those that the sample lacks"
    return Sliced(Slicing(classes=tuple(different)), why)


def _numbers(values: Sequence[str]) -> Matrix | None:
    """The values as finite numbers, if all of them are."""
    try:
        array = np.array([float(value) for value in values])
    except ValueError:
        return None
    return array if np.isfinite(array).all() else None


def _are_whole(numbers: Matrix) -> bool:
    return bool((numbers == np.rint(numbers)).all())
