"""Public constants that put features on one scale, from a public sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsir.arrays import Matrix

# Standard deviations from the public centre at which a feature is truncated. Far out: the clip of
# the mapped record is what bounds its part; this only keeps a broken sensor from being all of it.
TRUNCATE = 16.0
_DIGITS = 4  # of a public constant
_MOST_FEATURES = (0.1, 0.9)
_ONE_SCALE = 10.0  # standard deviations of most features within this factor of each other


class Standard(NamedTuple):
    """A value x enters as `(x - centre) / scale`."""

    centre: Matrix
    scale: Matrix

    def apply(self, X: Matrix) -> Matrix:
        """Standardised records."""
        return np.asarray((X - self.centre) / self.scale)


def standard(X: Matrix) -> Standard:
    """Centre and scale of a sample in which every feature varies.

    A feature that hardly varies in the sample may vary in other people, and would then drown out
    the others. So where features are on one scale already, as far as the sample shows, that scale
    is kept for all. Where they have units of their own it is the standard deviation of each, but
    not much less than the usual one: that can only let a feature weigh less.

    >>> rng = np.random.default_rng(0)
    >>> standard(rng.normal(size=(1000, 3)) * [1.0, 2.0, 0.5]).scale.round(1)
    array([1.4, 1.4, 1.4])
    >>> standard(rng.normal(size=(1000, 4)) * [1.0, 1.0, 0.001, 0.001]).scale.round(1)
    array([1.1, 1.1, 0.5, 0.5])
    """
    sd = X.std(axis=0)
    usual = float(np.median(sd))
    small, large = np.quantile(sd, _MOST_FEATURES)
    scale = np.full(len(sd), usual * 2.0**0.5)
    if large > _ONE_SCALE * small:
        scale = np.hypot(sd, usual)
    return Standard(_short(X.mean(axis=0)), _short(scale))


def _short(values: Matrix) -> Matrix:
    """A few digits: a public constant need not look more exact than it is."""
    return np.array([float(f"{value:.{_DIGITS}g}") for value in values])
