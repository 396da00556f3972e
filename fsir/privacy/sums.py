"""Exact sums of rows of whole numbers: by slice, counts, and second moments."""

from __future__ import annotations

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.errors import AccumulatorError
from fsir.privacy.codes import CODE_UNIT
from fsir.privacy.plan import Stage
from fsir.privacy.quantiser import Quantiser

EXACT = 2.0**53  # whole numbers below this are exact in float64, and so are their sums


class Sums:
    """What the rows of one stage add up to, in grid steps; exact, and so the same in any order."""

    def __init__(self, stage: Stage, quantiser: Quantiser) -> None:
        self.n = 0
        self.by_slice = np.zeros((stage.p, stage.slices))
        self.counts = np.zeros(stage.slices)
        self.second = np.zeros((stage.p, stage.p)) if stage.has_second else None
        self._one_hot = np.eye(stage.slices)
        self._largest_entry = _largest_entry(stage, quantiser)
        self.surely = int(EXACT / 2.0 / self._largest_entry)  # so many records always fit

    def check_room(self, n: int, more: int) -> None:
        """Refuse to go from `n` records to so many more if a sum could become inexact."""
        if (n + more) * self._largest_entry >= EXACT:
            raise AccumulatorError(
                f"{n} records learned: {more} more could make a sum inexact; report and start anew"
            )

    def add(self, K: Matrix, slices: Integers) -> None:
        """Add clipped rows."""
        self.by_slice += K.T @ self._one_hot.take(slices, axis=0)
        self.counts += np.bincount(slices, minlength=len(self.counts))
        if self.second is not None:
            self.second += K.T @ K
        self.n += len(K)

    def add_null(self, count: int) -> None:
        """Add null records: zero, and in no slice."""
        self.n += count

    def merge(self, other: Sums) -> None:
        """Add the sums of other rows of the same stage."""
        for mine, theirs in zip(self._arrays(), other._arrays(), strict=True):
            mine += theirs
        self.n += other.n

    def state(self) -> list[bytes]:
        """The arrays as bytes."""
        return [array.tobytes() for array in self._arrays()]

    def restore(self, n: int, state: list[bytes]) -> None:
        """Become what `state` was taken from."""
        arrays = self._arrays()
        if [len(raw) for raw in state] != [array.nbytes for array in arrays]:
            raise ValueError("this state belongs to another stage: its arrays have other sizes")
        for array, raw in zip(arrays, state, strict=True):
            array[...] = np.frombuffer(raw).reshape(array.shape)
        self.n = n

    def _arrays(self) -> list[Matrix]:
        arrays = [self.by_slice, self.counts]
        return arrays if self.second is None else [*arrays, self.second]


def _largest_entry(stage: Stage, quantiser: Quantiser) -> float:
    """The most that one record can add to a sum, in whole steps."""
    largest = min(quantiser.reach, quantiser.norm)
    if stage.has_second:
        return max(1.0, largest * largest)
    return max(1.0, largest * (CODE_UNIT if stage.code else 1))
