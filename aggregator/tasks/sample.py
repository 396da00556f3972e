"""A public sample: a CSV file with a header, numbers in all columns except perhaps the response."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.errors import FsirError
from fsir.tables.columns import Cleaned, cleaned, column, constants, copies
from fsir.tables.csv_table import CsvTable
from fsir.task.public_sample import forward_selection, varying


@dataclass(frozen=True, eq=False)
class Sample:
    """Public records: the features, n x p, and the response as it stands in the file."""

    where: str  # the option and the file
    names: list[str]
    X: Matrix
    response: list[str]
    lines: list[int]  # of the file, on which the records stand
    groups: Integers | None = None  # who each record is of
    notes: tuple[str, ...] = ()  # what was left out, and why
    remarks: tuple[str, ...] = ()  # what to know about the rows that are left

    def useful(self) -> Sample:
        """Without features that say nothing: constant ones, and copies of others."""
        varied = self.without(constants(self.names, self.X))
        useful = varied.without(copies(varied.names, varied.X))
        if not useful.names:
            raise _nothing_left(self.where, useful.notes)
        return useful

    def without(self, reasons: dict[str, str]) -> Sample:
        """Without these features, which a note says."""
        kept = [j for j, name in enumerate(self.names) if name not in reasons]
        return replace(
            self,
            names=[self.names[j] for j in kept],
            X=self.X[:, kept],
            notes=self.notes + _left_out(reasons),
        )

    def keep(self, slices: Integers, count: int) -> Sample:
        """Only the features that tell the slices apart best, in their order here."""
        if count < 1:
            raise FsirError(f"--keep {count}: give the number of features to keep, 1 or more")
        usable = int(varying(self.X).sum())
        if not usable:
            raise FsirError(
                f"--keep {count}: every feature is constant in the sample; "
                "give one in which they vary"
            )
        if count > usable:
            raise FsirError(
                f"--keep {count}: the sample has only {usable} usable features; "
                f"give at most {usable}, or leave --keep out"
            )
        chosen = sorted(forward_selection(self.X, slices, count))
        return replace(self, names=[self.names[j] for j in chosen], X=self.X[:, chosen])


def read_sample(
    path: Path, response: str, wanted: list[str] | None, by: str | None = None
) -> Sample:
    """The sample in a file, with these features, or all columns that hold numbers."""
    table = CsvTable.read(path)
    table.require("--response", response)
    table.require("--by", by)
    answered, unanswered = table.answered(response)
    columns = [name for name in answered.header if name not in (response, by)]
    if wanted is not None:
        _check_wanted(table, wanted, {response: "--response", by: "--by"})
    found = _clean(answered, wanted or columns, strict=wanted is not None)
    kept = answered.only(found.rows.tolist())
    notes = (f"{unanswered} rows left out: no response",) if unanswered else ()
    return Sample(
        where=f"--sample {path}",
        names=found.names,
        X=found.X,
        response=kept.values(response),
        lines=kept.lines,
        groups=None if by is None else _groups(kept, by),
        notes=notes + found.notes + _left_out(found.reasons),
        remarks=table.notes,
    )


def _check_wanted(table: CsvTable, wanted: list[str], taken: dict[str | None, str]) -> None:
    for name in wanted:
        table.require("--features", name)
        if name in taken:
            raise FsirError(
                f"--features {name!r}: that is {taken[name]}, and no feature; leave it out"
            )
        if wanted.count(name) > 1:
            raise FsirError(f"--features {name!r}: named more than once; name every feature once")


def short(value: float) -> float:
    """Four digits: a public constant need not look more exact than it is.

    >>> short(0.123456)
    0.1235
    """
    return float(f"{value:.4g}")


def _clean(table: CsvTable, names: list[str], *, strict: bool) -> Cleaned:
    columns = {name: column(table.values(name), table.lines) for name in names}
    found = cleaned(columns)
    if strict and found.reasons:
        name, reason = next(iter(found.reasons.items()))
        raise FsirError(
            f"--features {name!r}: not every value is a finite number ({reason}); "
            "leave it out or mend the sample"
        )
    if not found.names:
        raise _nothing_left(f"--sample {table.path}", _left_out(found.reasons))
    if len(found.X) < 2:
        raise FsirError(f"--sample {table.path}: give at least two rows without missing values")
    return found


def _left_out(reasons: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"column {name} left out: {reason}" for name, reason in reasons.items())


def _nothing_left(where: str, notes: Iterable[str]) -> FsirError:
    said = "; ".join(["no usable column of numbers beside the response", *notes])
    return FsirError(f"{where}: {said}. Give a table in which features are numbers and vary")


def _groups(table: CsvTable, by: str) -> Integers:
    people = table.values(by)
    for person, line in zip(people, table.lines, strict=True):
        if not person.strip():
            raise FsirError(f"--by {by!r}: line {line} does not say who it is of; fill it in")
    return np.unique(people, return_inverse=True)[1].astype(np.int64)
