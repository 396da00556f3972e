"""The public rule, in whole numbers: which public centre is nearest to a mapped record?

Squared Euclidean distance in the coordinates of the map, no shares, of several nearest ones the
first. Records and centres are taken from the middle of all centres and put on the grid of the
report, 2^14 steps to its norm: w toward zero, g_k to the nearest step, both bounded to 2^20 steps,
which is at least 64 times the clip. Of |w - g_k|^2 = |w|^2 - (2 w.g_k - |g_k|^2) only the bracket
depends on k, and every partial sum of it is a whole number of at most 1024 (2^41 + 2^40) < 2^52,
exact in float64: so the answer is the same in every block of rows and on every machine
(docs/privacy.md, lemma 11).
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Integers, Matrix

_REACH = 2.0**20  # steps
REACH_CLIPS = 64.0  # the same, in clips: 2^14 steps lead to no less than one


class NearestCentre:
    """The nearest of some centres, which are whole numbers as `ExactMap` has them."""

    def __init__(self, centres: Matrix, to_grid: float) -> None:
        self._to_grid = to_grid
        # Of whole numbers of at most 2^52: the sum is exact, and so is its half, rounded down.
        self._middle = np.floor((centres.min(axis=0) + centres.max(axis=0)) / 2.0)
        G = np.clip(np.rint((centres - self._middle) * to_grid), -_REACH, _REACH)
        self._doubled = np.ascontiguousarray(2.0 * G.T)
        self._squares = (G * G).sum(axis=1)

    def of(self, V: Matrix) -> Integers:
        """The class of the nearest centre, for each of these mapped rows."""
        W: Matrix = V - self._middle
        W *= self._to_grid
        np.clip(W, -_REACH, _REACH, out=W)
        np.trunc(W, out=W)
        closeness = W @ self._doubled
        closeness -= self._squares
        nearest: Integers = np.argmax(closeness, axis=1)
        return nearest
