"""The covariance within slices: that of the public sample, and what stands out of the noise.

In the coordinates of the map the sample's is the identity. Of the excess above it the eigenvalues
above half the edge of the noise stay, as far as the excess as a whole is more than noise (in the
spirit of Ledoit and Wolf 2004).
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix

_NARROWEST = 0.05  # variance within slices, in units of that of the sample
_SURE_SIGMAS = 2.0  # an excess that stands out by so much is believed by half


def within_slices(spread: Matrix, noise: float) -> Matrix:
    """The identity, and of the excess above it what stands out of noise of this variance."""
    q = len(spread)
    excess = spread - np.eye(q)
    values, vectors = np.linalg.eigh(excess)
    edge = 2.0 * (noise * q) ** 0.5
    # A direction taken for narrower than it is would give noise a great weight: there, all that
    # noise could do is taken off.
    kept = np.maximum(values - edge / 2.0, 0.0) + np.minimum(values + edge, 0.0)
    kept = np.maximum(kept * _belief(excess, noise), _NARROWEST - 1.0)
    return np.asarray(np.eye(q) + (vectors * kept) @ vectors.T)


def whitening_of(within: Matrix) -> Matrix:
    """The inverse root of a covariance: what makes it the identity; leading axes are replications.

    A variance far below that of the sample is not believed.
    """
    values, vectors = np.linalg.eigh(within)
    roots = np.sqrt(np.maximum(values, _NARROWEST))[..., None, :]
    return np.asarray((vectors / roots) @ vectors.swapaxes(-1, -2))


def _belief(excess: Matrix, noise: float) -> float:
    """From 0 to 1: by how much the sum of squares of the excess is more than that of its noise.

    More than noise would give in one of forty federations: with few coordinates that is a lot.
    """
    q = len(excess)
    entries = q * (q + 1)  # diagonal ones have twice the variance, and all the others come twice
    fluctuation = 2.0 / entries**0.5  # of the sum of squares of noise, relative to its mean
    size = float((excess * excess).sum())
    by_chance = entries * noise * (1.0 + _SURE_SIGMAS * fluctuation)
    signal = float(max(1.0 - by_chance / max(size, 1e-300), 0.0))
    unsure = (_SURE_SIGMAS * fluctuation * (1.0 - signal)) ** 2
    return float(signal**2 / max(signal**2 + unsure, 1e-300))
