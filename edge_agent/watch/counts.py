"""What the records of a report look like, in a few numbers for each feature.

Each number counts records by a property that one record has or has not, alone: so a replaced record
moves each of them by one at most (docs/privacy.md, proposition 12). Two things are counted of every
feature. How many values are *far* from where the task expects them: units that are off by a
thousand. And whether it ever *varies*: sixteen bits are made of each value, the same ones for equal
values, and a feature varies in as many records as the rarer side of its most balanced bit has. One
that varies in `enough` records is not looked at any more, which most are after a few hundred.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.privacy.plan import Stage
from fsir.task.task import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAR_SCALES = 50.0  # from the centre; other people differ by less, whoever the public sample is of
FAR_TRUNCATIONS = 2.0  # and at least so many times where values are cut off
BITS = 16
_LANES = np.uint64(0x0101010101010101)  # one bit in each byte, so that bytes count ...
_ROWS_AT_ONCE = 255  # ... as far as they can
_MIX = np.uint64(0x1E5A02C2C14DF3BF)  # odd; found by trying which one tells round numbers apart
_FOLD = np.uint64(28)
_OTHER = np.uint64(3)


class Counts:
    """Counts of the accepted records of one report; `enough` is where varying is beyond doubt."""

    def __init__(self, task: Task, stage: Stage, enough: int) -> None:
        chosen = list(stage.features)
        centre = np.array(task.features.centre)[chosen]
        scale = np.array(task.features.scale)[chosen]
        far = max(FAR_SCALES, FAR_TRUNCATIONS * task.clip.truncate) * scale
        self._low = centre - far
        self._high = centre + far
        self._enough = enough
        self.rows = 0  # that were looked at
        self.slices = np.zeros(stage.slices, np.int64)
        self.far = np.zeros(len(chosen), np.int32)
        self._open = np.arange(len(chosen))  # features that do not vary in enough records yet
        self._ones = np.zeros((len(chosen), BITS), np.int32)  # of those, records with each bit

    def add(self, rows: Matrix, slices: Integers) -> None:
        """Count accepted records: values of the features of the stage, all finite."""
        if not len(rows):
            return
        self.slices += np.bincount(slices, minlength=len(self.slices))
        self._count_far(rows)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            self._count_bits(rows[start : start + _ROWS_AT_ONCE])

    def _count_far(self, rows: Matrix) -> None:
        if rows.max() <= self._high.min() and rows.min() >= self._low.max():
            return  # as a rule: the narrowest of all limits holds for every feature
        far = rows > self._high
        far |= rows < self._low
        self.far += far.sum(axis=0, dtype=np.int32)

    def _count_bits(self, rows: Matrix) -> None:
        self.rows += len(rows)
        if not len(self._open):
            return
        self._ones += ones(rows if len(self._open) == rows.shape[1] else rows[:, self._open])
        still = self._rarer() < self._enough
        if not still.all():
            self._open = self._open[still]
            self._ones = self._ones[still]

    def _rarer(self) -> Integers:
        """Of the features that are open: records on the rarer side of the most balanced bit."""
        sides = np.minimum(self._ones, self.rows - self._ones)
        rarer: Integers = sides.max(axis=1, initial=0).astype(np.int64)
        return rarer

    def varying(self) -> Integers:
        """In how many records each feature varies, up to `enough`."""
        varying = np.full(len(self.far), self._enough, np.int64)
        varying[self._open] = self._rarer()
        return varying

    # --- for the state file -----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything counted, as plain values and bytes."""
        return {
            "rows": self.rows,
            "slices": self.slices.tolist(),
            "far": self.far.tobytes(),
            "open": self._open.tobytes(),
            "ones": self._ones.tobytes(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what `state` was taken from."""
        self.rows = int(state["rows"])
        self.slices = np.array(state["slices"], np.int64)
        self.far = np.frombuffer(state["far"], np.int32).copy()
        self._open = np.frombuffer(state["open"], np.int64).copy()
        self._ones = np.frombuffer(state["ones"], np.int32).reshape(-1, BITS).copy()


def ones(values: Matrix) -> NDArray[np.uint8]:
    """For each column, in how many of at most 255 rows each of sixteen bits of its value is set.

    >>> a, b, c = ones(np.array([[1.0, 0.0, 1.0], [1.0, -0.0, 0.0]]))
    >>> set(a.tolist()) <= {0, 2}, set(b.tolist()), 1 in c.tolist()
    (True, {0}, True)
    """
    words = np.ascontiguousarray(values + 0.0).view(np.uint64)  # + 0.0: a zero has no sign
    words *= _MIX
    words ^= words >> _FOLD  # round numbers have their bits at the upper end
    first = np.add.reduce(words & _LANES, axis=0)
    words >>= _OTHER
    words &= _LANES
    second = np.add.reduce(words, axis=0)
    return np.stack([first, second], axis=1).view(np.uint8)
