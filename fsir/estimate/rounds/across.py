"""The covariance of many rounds, once directions are known.

With much noise it hardly matters what is left of a covariance. Rounds take noise away, and what
remains is the sampling of records: between the directions and what is across them it turns the
directions. Whether it should stay depends on where features come from. If they are alike in all
directions together (gamma = 0), the slice means have the same sampling, and regression on the
features takes it out: it stays. If they are alike within each slice (gamma = 1), the slice means
alone say where the directions are, and all that sampling explains goes (Ledoit and Wolf 2004).
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import (
    Merged,
    intensity,
    mean_eigenvalue,
    noise_size,
    of_slices,
    positive,
)


def covariance_across(m: Merged, d: int) -> Matrix:
    """A positive definite covariance; across `d` directions it is also shrunk for sampling.

    Along the directions it is shrunk as far as the known noise explains, as `covariance` is: what
    stands out there, because slice means do, says nothing about the rest.
    """
    gamma, B = of_slices(m)
    S = m.Sigma - gamma * B
    p = S.shape[-1]
    alike = mean_eigenvalue(S) * np.eye(p)
    rest = S - alike
    U = np.linalg.eigh(B)[1][..., -d:]
    Q = U @ U.swapaxes(-1, -2)
    along = Q @ rest @ Q
    across = rest - along
    noise = noise_size(m)
    explained = (noise + gamma * _sampling_size(m, S)) * (1.0 - d * (d + 1) / (p * (p + 1)))
    kept = along * (1.0 - intensity(noise, rest)) + across * (1.0 - intensity(explained, across))
    return np.asarray(positive(m, alike + kept) + gamma * B)


def _sampling_size(m: Merged, S: Matrix) -> Matrix:
    """The expected sum of squares that sampling leaves in a covariance of features all alike.

    Of normal ones: `2 t^2/N` on the diagonal and `t^2/N` beside it, t their variance.
    """
    p = S.shape[-1]
    return np.asarray(p * (p + 1) * mean_eigenvalue(S) ** 2 / m.N)
