"""Rows that wait until there are enough of them for one step.

Batches are copied as they come and looked at later, all together: one look at a thousand rows costs
little more than one at a few. What is refused, and in which order, is the same as if each batch had
been looked at when it came.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.task.slicing import UNKNOWN, Slicing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NARROW = 32  # values in a row, of which many are needed until they are worth a step
Refused = tuple[str, int]  # why, and how many


class Waiting:
    """A buffer of rows and their slices, of which the last ones may not have been looked at."""

    def __init__(self, slicing: Slicing, inputs: int) -> None:
        # Long enough for BLAS to be at its best, at most 2 MiB for all but the widest records.
        longest = 4096 if inputs <= _NARROW else 1024
        self.size = min(longest, max(64, 2**18 // inputs))
        self.rows = np.empty((self.size, inputs))
        self.slices = np.empty(self.size, np.int64)
        self.count = 0
        self.memory = self.rows.data.cast("B")
        self.row_bytes = self.rows.itemsize * inputs
        self.unseen: list[NDArray[Any]] = []  # the responses of the batches that were put off
        self._seen = 0  # rows that stand before these
        self._slicing = slicing

    def can_put_off(self, records: int, y: NDArray[Any]) -> bool:
        """Whether so many rows with these responses may be looked at later."""
        return (
            y.shape == (records,)
            and self.count + records <= self.size
            and self._slicing.takes_together(y)
        )

    def put_off(self, rows: Matrix, y: NDArray[Any]) -> None:
        """Take a batch that `can_put_off` allows, and look at it later."""
        if not self.unseen:
            self._seen = self.count
        end = self.count + len(rows)
        self.rows[self.count : end] = rows
        self.unseen.append(y.copy())
        self.count = end

    def put(self, rows: Matrix, slices: Integers) -> None:
        """Take rows that have been looked at, after all that were put off."""
        end = self.count + len(rows)
        self.rows[self.count : end] = rows
        self.slices[self.count : end] = slices
        self.count = end

    def look(self) -> list[Refused]:
        """Look at what was put off and take bad rows out; why, in the order in which they came."""
        if not self.unseen:
            return []
        batches = self.unseen
        self.unseen = []
        start = self._seen
        rows = self.rows[start : self.count]
        slices = self._slices_of(batches)
        self.slices[start : self.count] = slices
        if are_sound(rows, slices):
            return []
        self.count = start
        return list(self._put_sound(rows.copy(), slices, batches))

    def _slices_of(self, batches: list[NDArray[Any]]) -> Integers:
        """Looked up at once where all responses are of one kind."""
        if len({y.dtype for y in batches}) == 1:
            return self._slicing.slices_of(np.concatenate(batches))
        return np.concatenate([self._slicing.slices_of(y) for y in batches])

    def _put_sound(
        self, rows: Matrix, slices: Integers, batches: list[NDArray[Any]]
    ) -> Iterator[Refused]:
        start = 0
        for y in batches:
            batch = slice(start, start + len(y))
            good, known, refused = sound(rows[batch], slices[batch])
            self.put(good, known)
            yield from refused
            start = batch.stop

    def take(self) -> tuple[Matrix, Integers]:
        """All rows, which have been looked at; whoever takes them may use their memory."""
        count = self.count
        self.count = 0
        return self.rows[:count], self.slices[:count]

    def clear(self) -> None:
        """Forget all rows."""
        self.count = 0
        self.unseen = []


def are_sound(rows: Matrix, slices: Integers) -> bool:
    """Whether all rows are finite and in a slice."""
    if (slices == UNKNOWN).any():
        return False
    # The sum of the squares is finite only if all values are; it may also be too large.
    return math.isfinite(np.vdot(rows, rows)) or bool(np.isfinite(rows).all())


def sound(rows: Matrix, slices: Integers) -> tuple[Matrix, Integers, list[Refused]]:
    """The rows of a batch that can be learned from, their slices, and what is wrong with others."""
    if are_sound(rows, slices):
        return rows, slices, []
    known = slices != UNKNOWN
    good = np.isfinite(rows).all(axis=1) & known
    refused = [
        ("unknown response", int((~known).sum())),
        ("not finite", int((known & ~good).sum())),
    ]
    return rows[good], slices[good], refused
