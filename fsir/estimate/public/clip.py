"""What the clip takes from records that lie farther out than those of the public sample."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Levels

_WIDEST = 100.0  # variance of records, in units of that of the sample
_STEPS = 30  # of a bisection
_NORMALS = np.array([NormalDist().inv_cdf((k + 0.5) / 64) for k in range(64)])


class Kept(NamedTuple):
    """What the clip leaves of a record on average: of its length, and of its square."""

    length: float
    square: float

    def towards_one(self, share: float) -> Kept:
        """Only so much of what is missing from 1."""
        return Kept(1.0 - share * (1.0 - self.length), 1.0 - share * (1.0 - self.square))


def kept_by(second: Matrix, levels: Levels, clip: float) -> Kept:
    """What the clip leaves of records that are as long as the second moment says.

    If they are normal, of the same variance in all coordinates. Their mean square is known far
    better than any entry; where it is not, they are taken for no longer than those of the sample.
    """
    q = len(second)
    excess = max(float(np.trace(second)) / q - _kept_of(1.0, q, clip).square, 0.0)
    noise = levels.diagonal / q
    variance = _unclipped(q, clip, excess**3 / max(excess**2 + noise, 1e-300))
    return _kept_of(variance, q, clip)


def _unclipped(q: int, clip: float, excess: float) -> float:
    """The variance whose mean square, clipped, exceeds that of the sample by so much."""
    wanted = _kept_of(1.0, q, clip).square + excess
    low = 1.0
    high = _WIDEST
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        if middle * _kept_of(middle, q, clip).square < wanted:
            low = middle
        else:
            high = middle
    return low


def _kept_of(variance: float, q: int, clip: float) -> Kept:
    """Of normal records of this variance in each of q coordinates."""
    square = variance * _chi_squares(q)
    left = np.minimum(1.0, clip / np.sqrt(square))
    return Kept(float(left.mean()), float((left**2 * square).sum() / square.sum()))


def _chi_squares(q: int) -> Matrix:
    """Quantiles of the chi-square law with q degrees of freedom, by Wilson and Hilferty (1931)."""
    spread = 2.0 / (9.0 * q)
    return np.asarray(q * np.maximum(1.0 - spread + _NORMALS * spread**0.5, 0.05) ** 3)
