"""From a mean report to the subspace, and how far that is turned;
everything on leading axes of replications."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Levels, centred, trimmed
from fsir.privacy.plan import Stage
from sim_devices.paper.merged_release import basis_of


@dataclass(frozen=True, kw_only=True)
class Estimator:
    """The aggregator's estimate, from the mean of reports as published integers."""

    stage: Stage
    devices: int
    n: int
    d: int
    inflation: float = 1.0

    def __call__(self, mean: Matrix) -> Matrix:
        """A basis of the subspace."""
        stage = self.stage
        p = self.stage.p
        N = self.devices * self.n
        levels = Levels(*(block.variance / (self.devices * self.n**2) for block in stage.blocks))
        parts = []
        start = 0
        for block in stage.blocks:
            parts.append(mean[..., start : start + block.size] * (block.worth / self.n))
            start += block.size
        G, counts, diagonal, upper = parts
        T = np.zeros((*mean.shape[:-1], p, p))
        above, right = np.triu_indices(p, 1)
        T[..., above, right] = T[..., right, above] = upper
        T[..., np.arange(p), np.arange(p)] = diagonal
        levels = trimmed(levels, T, stage.columns, N, self.inflation)
        sums = G.reshape(*mean.shape[:-1], p, stage.columns)
        return basis_of(centred(sums, counts, T, N, levels), self.d)


def loss(A: Matrix, B: Matrix) -> Matrix:
    """`||P_A - P_B||_F` of the spanned spaces."""
    d = A.shape[-1]
    cosines = _orthonormal(A).swapaxes(-1, -2) @ _orthonormal(B)
    return np.asarray(np.sqrt(np.maximum(2.0 * d - 2.0 * (cosines**2).sum((-2, -1)), 0.0)))


def angle(A: Matrix, B: Matrix) -> Matrix:
    """The largest principal angle between the spanned spaces, in degrees."""
    cosines = np.linalg.svd(_orthonormal(A).swapaxes(-1, -2) @ _orthonormal(B), compute_uv=False)
    return np.asarray(np.degrees(np.arccos(np.clip(cosines[..., -1], -1.0, 1.0))))


def _orthonormal(A: Matrix) -> Matrix:
    return np.asarray(np.linalg.qr(A)[0])
