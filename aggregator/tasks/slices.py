"""The slices of a response, by a public sample: its classes, or intervals of a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from aggregator.tasks.sample import short
from fsir.arrays import Integers, Matrix
from fsir.errors import FsirError
from fsir.limits import MAX_SLICES
from fsir.task.slicing import Slicing

SLICES = 8  # of a number, if nobody says how many
FEW_CLASSES = 12  # whole numbers with at most so many different values are classes, not a quantity
FEWEST_RECORDS = 2  # of a slice, for it to have a centre


class Sliced(NamedTuple):
    """The slices of a response, and why these."""

    slicing: Slicing
    why: str

    @property
    def field(self) -> dict[str, Any]:
        """What a task says about them: classes or cuts."""
        kind = "classes" if self.slicing.classes else "cuts"
        return {kind: list(self.slicing.classes or self.slicing.cuts)}


class Answers(NamedTuple):
    """The response of each record of a sample: its column, the values, and on which lines."""

    column: str
    values: Sequence[str]
    lines: Sequence[int]

    def error(self, said: str) -> FsirError:
        """The error for a response that cannot be sliced."""
        return FsirError(f"--response {self.column!r}: {said}")

    def line(self, value: str) -> int:
        """Where a value stands first."""
        return self.lines[self.values.index(value)]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What somebody has said about the slices; at most one of these."""

    classes: bool = False  # every value is one, also of a number
    slices: int | None = None  # so many equal ones of a number
    cuts: tuple[float, ...] = ()


def slice_response(answers: Answers, wanted: Wanted) -> Sliced:
    """As asked; else classes for words and few whole numbers, and equal slices for other numbers.

    >>> slice_response(Answers("y", ["walk", "sit", "walk"], [2, 3, 4]), Wanted()).slicing.classes
    ('sit', 'walk')
    """
    different = sorted(set(answers.values))
    if len(different) < 2:
        raise answers.error(
            f"it has only the value {different[0]!r}; a sample must show at least two classes"
        )
    if wanted.cuts or wanted.slices is not None:
        return _intervals(answers, wanted)
    numbers = quantity(answers.values)
    if numbers is not None and not wanted.classes:
        return cut_points(numbers, SLICES)
    if not wanted.classes:
        _refuse_stray_word(answers)
    return _classes(answers, different)


def quantity(values: Sequence[str]) -> Matrix | None:
    """The values as numbers, if they are a quantity: words and few whole numbers are classes.

    >>> quantity(["1", "2", "1"]), quantity(["0.5", "2"])
    (None, array([0.5, 2. ]))
    """
    numbers = _numbers(values)
    if numbers is None or (len(set(values)) <= FEW_CLASSES and _are_whole(numbers)):
        return None
    return numbers


def _refuse_stray_word(answers: Answers) -> None:
    """Refuse a response of numbers, more than could be classes, with a few words among them."""
    values = answers.values
    words = [value for value in values if _numbers([value]) is None]
    numbers = len(set(values) - set(words))
    if numbers > FEW_CLASSES and 2 * len(words) < len(values):
        raise answers.error(
            f"a number except in {len(words)} of {len(values)} rows, the first of which, line "
            f"{answers.line(words[0])}, says {words[0][:40]!r}; mend these, or empty them, or say "
            "--classes"
        )


def rarest(sliced: Sliced, answers: Answers) -> tuple[str, float]:
    """The slice with the fewest records of a sample, and its share."""
    slicing = sliced.slicing
    counts = np.bincount(slicing.slices_of(answers.values), minlength=slicing.count)
    h = int(counts.argmin())
    return slicing.labels[h], float(max(counts[h], 1) / len(answers.values))


def slices_with_centres(sliced: Sliced, answers: Answers) -> Integers:
    """The slice of each record; every one must have enough of them for a public centre."""
    slicing = sliced.slicing
    slices = slicing.slices_of(answers.values)
    counts = np.bincount(slices, minlength=slicing.count)
    for label, records in zip(slicing.labels, counts.tolist(), strict=True):
        if records >= FEWEST_RECORDS:
            continue
        found = f"{records} public record{'' if records == 1 else 's'}"
        if slicing.classes:
            raise answers.error(
                f"line {answers.line(label)}: class {label!r} has {found}, and a public centre "
                f"takes {FEWEST_RECORDS} at least: add some of it to the sample, or leave its rows "
                "out, or write the task with --plain"
            )
        raise answers.error(
            f"the slice {label} has {found}, and a public centre takes {FEWEST_RECORDS} at least: "
            "lower --slices, or give a larger sample, or other --cuts"
        )
    return slices


def _classes(answers: Answers, different: list[str]) -> Sliced:
    if len(different) > MAX_SLICES:
        raise answers.error(
            f"it has {len(different)} different values ({different[0]!r}, {different[1]!r}, ...), "
            f"and a task has at most {MAX_SLICES} classes; name a column of fewer classes, or of "
            "numbers"
        )
    stripped = Counter(label.strip() for label in different)
    if alike := [label for label in different if stripped[label.strip()] > 1]:
        one, other = alike[:2]
        raise answers.error(
            f"the classes {one!r} (line {answers.line(one)}) and {other!r} (line "
            f"{answers.line(other)}) differ in spaces alone; write them alike"
        )
    why = "every class that may occur: add those that the sample lacks"
    return Sliced(Slicing(classes=tuple(different)), why)


def _intervals(answers: Answers, wanted: Wanted) -> Sliced:
    option = "--cuts" if wanted.cuts else "--slices"
    numbers = _numbers(answers.values)
    if numbers is None:
        word = next(value for value in answers.values if _numbers([value]) is None)
        raise answers.error(
            f"{option} is about numbers, and line {answers.line(word)} says {word[:40]!r}; "
            f"leave {option} out for classes, or mend that line"
        )
    if wanted.slices is not None:
        return cut_points(numbers, wanted.slices)
    for low, high in pairwise(wanted.cuts):
        if low >= high:
            raise FsirError(f"--cuts {low:g},{high:g}: cut points must increase strictly")
    why = f"cut points as you say: {len(wanted.cuts) + 1} slices"
    return Sliced(Slicing(cuts=wanted.cuts), why)


def cut_points(numbers: Matrix, count: int) -> Sliced:
    """Cut points at the quantiles of a sample, for about so many equal slices."""
    if not 2 <= count <= MAX_SLICES:
        raise FsirError(f"--slices {count}: give a number between 2 and {MAX_SLICES}")
    cuts = np.unique([short(cut) for cut in np.quantile(numbers, np.arange(1, count) / count)])
    why = f"quantiles of the sample: {len(cuts) + 1} equal slices"
    return Sliced(Slicing(cuts=tuple(cuts.tolist())), why)


def _numbers(values: Sequence[str]) -> Matrix | None:
    """The values as finite numbers, if all of them are."""
    try:
        array = np.array([float(value) for value in values])
    except ValueError:
        return None
    return array if np.isfinite(array).all() else None


def _are_whole(numbers: Matrix) -> bool:
    return bool((numbers == np.rint(numbers)).all())
