"""From one record as it comes, a mapping of names to values, to a row and its slice."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.errors import RecordError, shown
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task


class RecordReader:
    """Reads records, of which these features count; a bad one is a `RecordError`."""

    def __init__(self, task: Task, features: tuple[int, ...]) -> None:
        self._slicing = task.slicing
        self._names = tuple(task.features.names[j] for j in features)
        self._known = frozenset(task.features.names)
        self._values_of = _getter(self._names)
        self._pack_into = struct.Struct(f"{len(self._names)}d").pack_into

    def write(
        self, x: Mapping[str, Any], y: Any, memory: memoryview, at: int, others: bool = False
    ) -> int:
        """Write the row of a record to a place in memory; returns its slice.

        The same as `read` or, where there may be `others`, as `read` on what is `chosen`. Nearly
        all records are numbers, or texts of numbers, under known names: these are told by a few
        steps, and whatever else comes is left to `read`.
        """
        h = self._slicing.slice_of(y)
        if h != UNKNOWN and self._write_numbers(x, memory, at, others):
            return h
        row, h = self.read(self.chosen(x) if others else x, y)
        self._pack_into(memory, at, *row)
        return h

    def _write_numbers(
        self, x: Mapping[str, Any], memory: memoryview, at: int, others: bool
    ) -> bool:
        """Write the values of a record if they are plainly finite numbers."""
        try:
            if not others and len(x) > len(self._names):
                return False
            values = self._values_of(x)
            if type(values[0]) is str:
                "".join(values)  # an error unless all of them are
                values = tuple(map(float, values))
            elif type(values[0]) not in (float, int):
                return False
            # A sum of numbers is a float, and finite only if all of them are.
            total = sum(values, 0.0)
            if type(total) is not float or total - total != 0.0:
                return False
            self._pack_into(memory, at, *values)
        except (LookupError, TypeError, ValueError, OverflowError, struct.error):
            return False
        return True

    def read_sound(
        self, xs: Iterable[Mapping[str, Any]], ys: Iterable[Any]
    ) -> tuple[Matrix, Integers] | None:
        """The rows and slices of records that are all plainly sound, as `write` reads each of them.

        None if one of them is not, or is not plainly so: then they are for `write`, one by one.
        Values of names that do not count are passed by.
        """
        slices = self._slicing.slices_of(list(ys))
        if (slices == UNKNOWN).any():
            return None
        try:
            values = list(chain.from_iterable(map(self._values_of, xs)))
            if not _are_of_one_kind(values):
                return None
            # `fromiter` rounds nothing: `float` has made the number of each value.
            rows = np.fromiter(map(float, values), np.float64, len(values))
        except (LookupError, TypeError, ValueError, OverflowError):
            return None
        # The sum of the squares is finite only if all values are.
        if not math.isfinite(np.vdot(rows, rows)):
            return None
        return rows.reshape(len(slices), len(self._names)), slices

    def chosen(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """The values that count, as far as they are there."""
        return {name: x[name] for name in self._names if name in x}

    def read(self, x: Mapping[str, Any], y: Any) -> tuple[Matrix, int]:
        """The row and slice of a record."""
        h = self._slicing.slice_of(y)
        if h == UNKNOWN:
            detail = f"response {shown(y)}: not a class or number that the task knows"
            raise RecordError("unknown response", detail)
        row = self._row(x)
        if row.ndim != 1:  # some value is no number, or all are lists
            raise RecordError("not a number", f"record {shown(x)}: every feature must be a number")
        if len(x) > len(self._names) and not self._known.issuperset(x):
            unknown = sorted(set(x) - self._known, key=str)[:3]
            raise RecordError("unknown feature", f"features {shown(unknown)} are not in the task")
        if not np.isfinite(row).all():
            raise RecordError("not finite", "a feature is NaN or infinite")
        return row, h

    def _row(self, x: Mapping[str, Any]) -> Matrix:
        """The values of the features that count; not of one dimension if they are no numbers."""
        try:
            return np.array([x[name] for name in self._names], dtype=np.float64)
        except KeyError as missing:
            detail = f"feature {missing} is missing from the record"
            raise RecordError("missing feature", detail) from None
        except (TypeError, ValueError, OverflowError):
            return np.empty(())


def _are_of_one_kind(values: list[Any]) -> bool:
    """Whether all are texts, or all are plain numbers."""
    kinds = set(map(type, values))
    return kinds == {str} or kinds <= {float, int}


def _getter(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Takes the values of these names."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda x: tuple(x[name] for name in names)
