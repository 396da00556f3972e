"""What the clip takes from records that lie farther out than those of the public sample.

More from those of a slice that lies elsewhere than in the sample: the longer the mean of its
clipped records, the more the clip has taken of each.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.estimate.covariance import Levels

_WIDEST = 100.0  # variance of records, in units of that of the sample
_FARTHEST = 100.0  # clips that a slice may be shifted by
# Of the clip: no mean of clipped records is longer than the clip itself, and one that is almost as
# long may come from any distance.
_LONGEST_MEAN = 0.98
_STEPS = 24  # of a bisection
_NORMALS = np.array([NormalDist().inv_cdf((k + 0.5) / 64) for k in range(64)])


class Kept(NamedTuple):
    """What the clip leaves of the records of each slice: of their length, and of their square."""

    length: Matrix
    square: Matrix

    def towards_one(self, share: Matrix) -> Kept:
        """Only so much of what is missing from 1, for each slice."""
        return Kept(1.0 - share * (1.0 - self.length), 1.0 - share * (1.0 - self.square))


def kept_by(second: Matrix, levels: Levels, clip: float, means: Matrix, shares: Matrix) -> Kept:
    """What the clip leaves of the records of slices of these shares.

    If they are normal around the shift of their slice, of one variance in all coordinates. How far
    a slice is shifted follows from the length of its mean after the clip (`means`), the variance
    from the mean square of all records, which is known far better than any entry; where that is
    not, records are taken to scatter no more than those of the sample. That they scatter along the
    shift, too, is left out: it matters where there are few coordinates.
    """
    q = len(second)
    observed = np.minimum(means, _LONGEST_MEAN * clip)

    def records(variance: float) -> _Clipped:
        return _unclipped(observed, variance, q, clip)

    usual = float(shares @ records(1.0).squares)
    excess = max(float(np.trace(second)) - usual, 0.0)
    noise = levels.diagonal * q
    wanted = usual + excess**3 / max(excess**2 + noise, 1e-300)
    variance = _edge(
        lambda v: shares @ records(float(v)).squares < wanted, np.array(1.0), np.array(_WIDEST)
    )
    return records(float(variance)).kept


class _Clipped(NamedTuple):
    """Records of slices that are shifted by some length, after the clip."""

    kept: Kept
    means: Matrix  # how long they are
    squares: Matrix  # mean squared lengths


def _unclipped(means: Matrix, variance: float, q: int, clip: float) -> _Clipped:
    """Records whose clipped means are so long."""
    scattered = variance * _chi_squares(q)
    shifts = _edge(
        lambda tried: _clipped(tried, scattered, clip).means < means,
        np.maximum(means, 1e-9 * clip),
        np.full(len(means), _FARTHEST * clip),
    )
    return _clipped(shifts, scattered, clip)


def _clipped(shifts: Matrix, scattered: Matrix, clip: float) -> _Clipped:
    """Records that scatter around shifts of these lengths by these squared lengths."""
    squares = (shifts**2)[:, None] + scattered
    left = np.minimum(1.0, clip / np.sqrt(squares))
    length = left.mean(axis=1)
    clipped = (left**2 * squares).mean(axis=1)
    return _Clipped(Kept(length, clipped / squares.mean(axis=1)), shifts * length, clipped)


def _edge(below: Callable[[Matrix], Flags], low: Matrix, high: Matrix) -> Matrix:
    """Up to where something holds, by bisection on a scale of logarithms; `low` if nowhere."""
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        holds = below(middle)
        low = np.where(holds, middle, low)
        high = np.where(holds, high, middle)
    return low


def _chi_squares(q: int) -> Matrix:
    """Quantiles of the chi-square law with q degrees of freedom, by Wilson and Hilferty (1931)."""
    spread = 2.0 / (9.0 * q)
    return np.asarray(q * np.maximum(1.0 - spread + _NORMALS * spread**0.5, 0.05) ** 3)
