"""Public constants that put features on one scale, from a public sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsir.arrays import Matrix

# Standard deviations from the public centre at which a feature is truncated. Far out: the clip of
# the mapped record is what bounds its part; this only keeps a broken sensor from being all of it.
TRUNCATE = 16.0
_DIGITS = 4  # of a public constant


class Standard(NamedTuple):
    """A value x enters as `(x - centre) / scale`."""

    centre: Matrix
    scale: Matrix

    def apply(self, X: Matrix) -> Matrix:
        """Standardised records."""
        return np.asarray((X - self.centre) / self.scale)


def standard(X: Matrix) -> Standard:
    """Centre and scale of a sample in which every feature varies.

    The scale is the standard deviation, but not much less than the usual one of all features: one
    that hardly varies in the sample may vary in other people, and would then drown out the others.
    Where features have units of their own the usual one means nothing, and does little harm: it can
    only let a feature weigh less.

    >>> rng = np.random.default_rng(0)
    >>> standard(rng.normal(size=(1000, 3)) * [1.0, 1.0, 0.001]).scale.round(1)
    array([1.4, 1.4, 1. ])
    """
    sd = X.std(axis=0)
    usual = float(np.median(sd))
    scale = np.hypot(sd, usual)
    return Standard(_short(X.mean(axis=0)), _short(scale))


def _short(values: Matrix) -> Matrix:
    """A few digits: a public constant need not look more exact than it is."""
    return np.array([float(f"{value:.{_DIGITS}g}") for value in values])
