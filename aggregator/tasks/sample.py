"""A public sample: a CSV file with a header, numbers in all columns except perhaps the response."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.errors import FsirError
from fsir.task.public_sample import forward_selection
from fsir.task.slicing import Slicing

FEW_CLASSES = 12  # whole numbers with at most so many different values are classes, not a quantity


@dataclass(frozen=True, eq=False)
class Sample:
    """Public records: the features, n x p, and the response as it stands in the file."""

    names: list[str]
    X: Matrix
    response: list[str]

    def keep(self, slices: Integers, count: int) -> Sample:
        """Only the features that tell the slices apart best, in their order here."""
        if count < 1:
            raise FsirError(f"--keep {count}: give the number of features to keep, 1 or more")
        chosen = sorted(forward_selection(self.X, slices, count))
        if not chosen:
            raise FsirError(
                f"--keep {count}: every feature is constant in the sample; "
                "give one in which they vary"
            )
        return replace(self, names=[self.names[j] for j in chosen], X=self.X[:, chosen])


class Sliced(NamedTuple):
    """The slices of a response, and why these."""

    slicing: Slicing
    why: str


def read_sample(path: Path, response: str, wanted: list[str] | None) -> Sample:
    """The sample in a file, with these features, or all columns that hold numbers."""
    columns = _columns(path, response)
    if response not in columns:
        raise FsirError(
            f"--response {response!r}: the sample has no such column; it has {some(columns)}"
        )
    values = columns.pop(response)
    numbers = _features(columns, wanted)
    return Sample(list(numbers), np.column_stack(list(numbers.values())), values)


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


def _classes(different: list[str]) -> Sliced:
    if len(different) < 2:
        raise FsirError(
            f"the response has only the value {different[0]!r}; "
            "a sample must show at least two classes"
        )
    why = "every class that may occur: add those that the sample lacks"
    return Sliced(Slicing(classes=tuple(different)), why)


def short(value: float) -> float:
    """Four digits: a public constant need not look more exact than it is.

    >>> short(0.123456)
    0.1235
    """
    return float(f"{value:.4g}")


def some(names: Iterable[str]) -> str:
    """The first few of many names.

    >>> some("abcdefghij")
    'a, b, c, d, e, f, g, h, ...'
    """
    listed = list(names)
    return ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")


def _columns(path: Path, response: str) -> dict[str, list[str]]:
    header, rows = _read(path)
    if response in header:  # a record without a response tells nothing about it
        at = header.index(response)
        rows = [row for row in rows if len(row) <= at or row[at].strip()]
    if len(rows) < 2 or any(len(row) != len(header) for row in rows):
        raise FsirError(
            f"--sample {path}: give at least two rows with a response, "
            f"each with as many values as the header ({len(header)})"
        )
    return {name: [row[j] for row in rows] for j, name in enumerate(header)}


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header, and all rows that are not empty."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = csv.reader(file)
    except FileNotFoundError:
        raise FsirError(f"--sample {path}: there is no such file") from None
    except (ValueError, UnicodeDecodeError, csv.Error) as error:
        raise FsirError(f"--sample {path}: not a CSV file with a header line ({error})") from None
    return header, [row for row in rows if row]


def _features(columns: dict[str, list[str]], wanted: list[str] | None) -> dict[str, Matrix]:
    if wanted is not None and (unknown := [name for name in wanted if name not in columns]):
        raise FsirError(
            f"--features {unknown[0]!r}: the sample has no such column; it has {some(columns)}"
        )
    numbers = {
        name: values
        for name in wanted or columns
        if (values := _numbers(columns[name])) is not None
    }
    if wanted is not None and (words := [name for name in wanted if name not in numbers]):
        raise FsirError(
            f"--features {words[0]!r}: not every value is a finite number; "
            "leave it out or mend the sample"
        )
    if not numbers:
        raise FsirError("the sample has no column of numbers beside the response")
    return numbers


def _numbers(values: Sequence[str]) -> Matrix | None:
    """The values as finite numbers, if all of them are."""
    try:
        array = np.array([float(value) for value in values])
    except ValueError:
        return None
    return array if np.isfinite(array).all() else None


def _are_whole(numbers: Matrix) -> bool:
    return bool((numbers == np.rint(numbers)).all())
