"""The paper's own mechanisms on many clients at once, in two readings.

`stated`: as the paper writes it, with errata E1 (the floor of VGM is a variance) and E2 (positive
eigengaps) mended. `tables`: what its tables seem to have been computed with. It differs from the
text in these points: conditional slice means (1/n_h); every record divided by its own norm before
the covariance, whose noise is 0.94 of the lemma's; i.i.d. noise whose variance is what should be
its standard deviation; no truncation of the data at all; rows printed n = 1000 run at n = 1500.
Neither is private: `tables` adds too little noise, and both let the noise of VGM and the slices
depend on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.privacy.accounting import classical_sigma, lemma_sigma
from fsir.privacy.paper import vgm_floor
from sim_devices.paper.cells import SLICES

Profile = Literal["stated", "tables"]
TRUNCATION = 1.5  # R; the text gives none, the tables fit this one
_COVARIANCE_SHARE = 0.94


def records_of(profile: Profile, n: int) -> int:
    """How many records a client has where the table prints `n`."""
    return 1500 if profile == "tables" and n == 1000 else n


@dataclass(frozen=True)
class ClientStatistics:
    """What clients compute before noise:
    slice means (clients x p x H), covariances, and what scales their noise."""

    M: Matrix
    Sigma: Matrix
    n: int
    # c_R of each client: the largest norm, or 1 where every record was divided by its own.
    radius: Matrix


def client_statistics(
    X: Matrix, y: Matrix, classes: int, profile: Profile, slices: int = SLICES
) -> ClientStatistics:
    """Slice means and covariances of centred records; X is clients x n x p.
    `classes`: 0 for a numeric response."""
    n = X.shape[1]
    # Single precision halves the time, and its rounding is far below every noise here.
    centred = (X - np.full((1, n), 1.0 / n) @ X).astype(np.float32)
    if profile == "stated":
        np.clip(centred, -TRUNCATION, TRUNCATION, out=centred)
    sums, counts = slice_sums(centred, y, classes, slices)
    squares = np.einsum("kij,kij->ki", centred, centred)
    if profile == "tables":
        scaled = centred / np.maximum(squares, np.float32(1e-30))[:, :, None]
        radius = np.ones(len(X))
        M = sums / np.maximum(counts, 1.0)[:, :, None]
    else:
        scaled = centred
        radius = np.sqrt(squares.max(axis=1).astype(np.float64))
        M = sums / n
    Sigma = (scaled.transpose(0, 2, 1) @ centred).astype(np.float64) / n
    return ClientStatistics(M.transpose(0, 2, 1), Sigma, n, radius)


def slice_sums(
    X: NDArray[Any], y: Matrix, classes: int, slices: int = SLICES
) -> tuple[Matrix, Matrix]:
    """Sums (clients x H x p) and counts of each client's slices,
    which are quantiles of its own y."""
    clients, n, _ = X.shape
    slices = classes or slices
    # At least the lower end of the slice; nothing is in the last.
    above = np.ones((clients, slices + 1, n), X.dtype)
    above[:, -1] = 0.0
    ends = np.zeros((clients, slices + 1))
    ends[:, 0] = n
    if classes:
        above[:, 1:-1] = y[:, None, :] > np.arange(classes - 1)[:, None]
        ends[:, 1:-1] = above[:, 1:-1].sum(axis=2)
    else:
        ranks = [round(n * h / slices) for h in range(1, slices)]
        above[:, 1:-1] = y[:, None, :] >= np.sort(y, axis=1)[:, ranks][:, :, None]
        ends[:, 1:-1] = n - np.array(ranks)
    # One matrix product gives the sums above each end; the slices are their differences.
    sums = (above @ X).astype(np.float64)
    return sums[:, :-1] - sums[:, 1:], ends[:, :-1] - ends[:, 1:]


def iid_variance(
    profile: Profile, p: int, n: int, slices: int, epsilon: float, delta: float
) -> float:
    """Variance of the i.i.d. noise on an entry of M."""
    share = n / slices if profile == "tables" else n
    sigma = classical_sigma(2.0 * TRUNCATION * math.sqrt(p) / share, epsilon, delta)
    return sigma if profile == "tables" else sigma**2


def merged_iid(
    statistics: ClientStatistics,
    clients: int,
    profile: Profile,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Matrix:
    """Mean over the first `clients` of their slice means with i.i.d.
    noise (the noise of the mean, drawn at once)."""
    M = statistics.M[:clients].mean(axis=0)
    p, slices = M.shape
    variance = iid_variance(profile, p, statistics.n, slices, epsilon, delta)
    return np.asarray(M + math.sqrt(variance / clients) * rng.standard_normal(M.shape))


class VgmNoise:
    """Algorithm 2 on all clients at once: the same as `fsir.privacy.paper.vgm_noise` on each."""

    def __init__(self, M: Matrix) -> None:
        p = M.shape[1]
        self._W, s, _ = np.linalg.svd(M, full_matrices=True)
        padded = np.zeros((len(M), p + 1))
        padded[:, : s.shape[1]] = s
        gaps = padded[:, :-1] - padded[:, 1:]
        d = np.argmax(gaps[:, : p - 1], axis=1) + 1 if p > 1 else np.ones(len(M), np.int64)
        self._gaps = np.where(np.arange(p) < d[:, None], gaps, 0.0)

    def draw(self, floor: float, Z: Matrix) -> Matrix:
        """Noise of the first clients from standard normals Z (clients x p x H)."""
        clients = len(Z)
        noise: Matrix = self._W[:clients] @ (np.sqrt(floor + self._gaps[:clients])[:, :, None] * Z)
        return noise


def merged_vgm(
    statistics: ClientStatistics,
    noise: VgmNoise,
    clients: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Matrix:
    """Mean over the first `clients` of their slice means with the noise of VGM."""
    M = statistics.M[:clients]
    p = M.shape[1]
    floor = vgm_floor(TRUNCATION * math.sqrt(p), statistics.n, epsilon, delta)
    return np.asarray((M + noise.draw(floor, rng.standard_normal(M.shape))).mean(axis=0))


def merged_covariance(
    statistics: ClientStatistics,
    clients: int,
    profile: Profile,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Matrix:
    """Mean over the first `clients` of their covariances with the noise of the paper's lemma."""
    Sigma = statistics.Sigma[:clients].mean(axis=0)
    p = len(Sigma)
    share = _COVARIANCE_SHARE if profile == "tables" else 1.0
    one = share * lemma_sigma(p, statistics.n, epsilon, delta)
    sd = one * math.sqrt((statistics.radius[:clients] ** 4).sum())
    A = np.triu(rng.standard_normal((p, p))) * sd / clients
    return np.asarray(Sigma + A + np.triu(A, 1).T)


def subspace(M: Matrix, Sigma: Matrix, d: int) -> Matrix:
    """The paper's estimate `Sigma^-1 U_d`, without regularisation."""
    U = np.linalg.svd(M)[0][:, :d]
    return np.asarray(np.linalg.solve(Sigma, U))
