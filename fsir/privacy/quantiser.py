"""From a record to a row of whole numbers whose length is bounded.

This is what makes sums exact, and their noise enough.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fsir.arrays import Matrix
from fsir.privacy.plan import Stage
from fsir.task.task import Task

_JUST_BELOW_ONE = 1.0 - 2.0**-50  # pays for the rounding of a square root, a quotient and a product


class Quantiser:
    """Turns records into rows of integers that one stage may add up."""

    def __init__(self, task: Task, stage: Stage) -> None:
        chosen = list(stage.features)
        self._centre = np.array(task.features.centre)[chosen]
        # Multiplied, not divided, and always in this order: one row and a block of rows give the
        # same bits.
        self._factor = 1.0 / (np.array(task.features.scale)[chosen] * stage.grid)
        self.reach = float(int(stage.truncate / stage.grid))
        self.norm = stage.norm / stage.grid
        # Squared norms are whole numbers: the largest one that is allowed, without rounding.
        self._longest = float(math.floor(Fraction(self.norm) ** 2))
        self._ones = np.ones(stage.p)

    def truncated(self, X: Matrix) -> Matrix:
        """Standardise, truncate, quantise toward zero."""
        K: Matrix = X - self._centre
        with np.errstate(over="ignore"):  # infinity is truncated like any other large value
            K *= self._factor
        np.clip(K, -self.reach, self.reach, out=K)
        np.trunc(K, out=K)
        return K

    def clipped(self, K: Matrix) -> Matrix:
        """Scale rows that are too long down to the clip, in place.

        The norm is taken from the integers, exactly.
        """
        squares = (K * K) @ self._ones
        long = squares > self._longest
        if long.any():
            shrinkage = self.norm / np.sqrt(np.maximum(squares, 1.0)) * _JUST_BELOW_ONE
            # All rows at once, the others times 1: faster than picking the long ones out.
            K *= np.where(long, shrinkage, 1.0)[:, None]
            np.trunc(K, out=K)
        return K
