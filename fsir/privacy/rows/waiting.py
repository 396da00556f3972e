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
_LINE = 8  # values in a line of the cache
Refused = tuple[str, int]  # why, and how many


class Waiting:
    """A buffer of rows and their slices, of which the last ones may not have been looked at."""

    def __init__(self, slicing: Slicing, inputs: int) -> None:
        # Long enough for BLAS to be at its best, at most 2 MiB for all but the widest records.
        longest = 4096 if inputs <= _NARROW else 2048
        self.size = min(longest, max(64, 2**18 // inputs))
        self.rows = _aligned(self.size, inputs)
        self.slices = np.empty(self.size, np.int64)
        self.count = 0
        self.inputs = inputs
        self.memory = self.rows.data.cast("B")
        self.row_bytes = self.rows.itemsize * inputs
        self.unseen: list[int] = []  # where each of the batches that were put off ends
        self._seen = 0  # rows that stand before these
        self._slicing = slicing
        self._kinds = slicing.kinds
        self._responses: NDArray[Any] = np.empty(self.size, slicing.dtype)  # of these batches

    def put_off(self, rows: Matrix, y: NDArray[Any]) -> bool:
        """Take a batch and look at it later; false, and nothing, if it must be looked at now."""
        start = self.count
        end = start + len(rows)
        if end > self.size or y.shape != (len(rows),) or y.dtype.kind not in self._kinds:
            return False
        if y.itemsize > self._responses.itemsize:
            if self.unseen:
                return False
            self._responses = np.empty(self.size, y.dtype)
        if not self.unseen:
            self._seen = start
        self.rows[start:end] = rows
        self._responses[start:end] = y
        self.unseen.append(end)
        self.count = end
        return True

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
        ends = self.unseen
        self.unseen = []
        start = self._seen
        rows = self.rows[start : self.count]
        slices = self._slicing.slices_of(self._responses[start : self.count])
        self.slices[start : self.count] = slices
        if are_sound(rows, slices):
            return []
        self.count = start
        return list(self._put_sound(rows.copy(), slices, [end - start for end in ends]))

    def _put_sound(self, rows: Matrix, slices: Integers, ends: list[int]) -> Iterator[Refused]:
        start = 0
        for end in ends:
            batch = slice(start, end)
            good, known, refused = sound(rows[batch], slices[batch])
            self.put(good, known)
            yield from refused
            start = end

    def take(self) -> tuple[Matrix, Integers]:
        """All rows, which have been looked at; whoever takes them may use their memory."""
        count = self.count
        self.count = 0
        return self.rows[:count], self.slices[:count]

    def clear(self) -> None:
        """Forget all rows."""
        self.count = 0
        self.unseen = []


def _aligned(rows: int, inputs: int) -> Matrix:
    """Memory that begins where a line of the cache does: numpy walks through it faster."""
    values = np.empty(rows * inputs + _LINE)
    first = -(values.ctypes.data // values.itemsize) % _LINE
    return values[first : first + rows * inputs].reshape(rows, inputs)


def are_sound(rows: Matrix, slices: Integers) -> bool:
    """Whether all rows are finite and in a slice."""
    if (slices == UNKNOWN).any():
        return False
    # The sum of the squares is finite only if all values are; it may also be too large. It is taken
    # in the order of memory: columns that stand one after the other would be copied into rows.
    values = rows.ravel(order="K")
    return math.isfinite(np.vdot(values, values)) or bool(np.isfinite(values).all())


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
