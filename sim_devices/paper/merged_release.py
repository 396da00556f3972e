"""The default release of many devices, drawn at once:
the distribution of their merged reports without the devices.

Each device publishes `floor(v/step + s z + 1/2)` with `s = sd/step` of at least 8. Such a rounded
Gaussian is, up to terms of the order `exp(-2 pi^2 s^2)`, a Gaussian of variance `s^2 + 1/12` on the
whole numbers; the sum of K of them is one of variance `K (s^2 + 1/12)`. So the merged integers are
one rounded Gaussian around the merged exact sums, and an experiment needs K devices' data but not K
devices' noise. Where two aggregators open the sum, each adds one such number of its own
(docs/privacy.md, lemma 16).
"""

from __future__ import annotations

import math

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Levels, Merged, centred, covariance, merged
from fsir.estimate.directions import directions, whitened
from fsir.estimate.totals import Totals
from fsir.privacy.plan import Stage
from sim_devices.paper.exact import ExactMoments

# The one rule for the clip: from public quantities alone, the same for every model, size, budget
# and fleet.
NORM_PER_ROOT = 0.85


def clip_norm(p: int, norm_per_root: float = NORM_PER_ROOT) -> float:
    """Euclidean clip C for p features of public centre 0 and scale 1:
    0.85 of the usual length of a record, sqrt(p).

    Nearly every record is shortened. That costs little, because shortening keeps a record's
    direction, and directions are what is estimated; and the noise, which grows with C, shrinks.

    >>> round(clip_norm(10), 2)
    2.69
    """
    return norm_per_root * math.sqrt(p)


def merged_release(
    stage: Stage, exact: ExactMoments, devices: int, rng: np.random.Generator
) -> Totals:
    """What the aggregator holds after `devices` reports about records whose exact sums are given.

    Where two open sums: after all were opened together.
    """
    totals = Totals(stage)
    p = stage.p
    values = (
        exact.sums.reshape(-1),
        exact.counts if stage.counts.size else np.empty(0),
        np.diagonal(exact.second) if stage.has_second else np.empty(0),
        exact.second[np.triu_indices(p, 1)] if stage.has_second else np.empty(0),
    )
    for total, block, value in zip(totals.blocks, stage.blocks, values, strict=True):
        spread = block.sd / block.worth
        # The last rounding, to whole numbers, brings 1/12 of its own.
        variance = devices * (spread**2 + 1.0 / 12.0) - 1.0 / 12.0 if block.sd > 0 else 0.0
        if stage.cohort and block.sd > 0:
            variance += 2.0 * ((block.added / block.worth) ** 2 + 1.0 / 12.0)
        noise = np.sqrt(variance) * rng.standard_normal(len(value))
        total += np.rint(value / block.step + noise).astype(np.int64)
    totals.n = exact.n
    totals.devices = devices
    if stage.cohort:
        totals.noise = devices + 2.0 * stage.cohort
    return totals


def basis_of(m: Merged, d: int) -> Matrix:
    """A basis of the subspace that `fsir.estimate.subspace.estimate` emits,
    without the rest of its message."""
    return directions(m, whitened(m, covariance(m)), d)


def released_basis(
    stage: Stage, exact: ExactMoments, devices: int, d: int, rng: np.random.Generator
) -> Matrix:
    """Release and estimate."""
    return basis_of(merged(merged_release(stage, exact, devices, rng)), d)


def noiseless_basis(exact: ExactMoments, d: int) -> Matrix:
    """The same estimate from sums without noise, in plain units."""
    n = exact.n
    none = Levels(0.0, 0.0, 0.0, 0.0)
    return basis_of(centred(exact.sums / n, exact.counts / n, exact.second / n, n, none), d)
