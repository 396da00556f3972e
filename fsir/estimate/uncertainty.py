"""How far off the emitted subspace is expected to be: a bootstrap, all of whose noise is known."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Levels, Merged, centred, covariance, stretch
from fsir.estimate.directions import Whitened, directions, signal, whitened

_SEED = 20130625  # the same integers must give the same published bits
_MOST = 200  # replications ...
_FEWEST = 4
_WORK = 2 * 10**7  # ... times p^3: from p = 47 on fewer, which bounds the time to seconds


def expected_loss(m: Merged, Sigma: Matrix, white: Whitened, d: int, times: int = 1) -> float:
    """The expected projection loss of the estimate with `d` directions.

    The estimate, with singular values freed of noise, is taken as the truth; noise of mechanism and
    sampling is drawn anew, that of so many times as many devices, and the same estimator runs on
    it.
    """
    M = _without_noise(m, white, d)
    truth = np.linalg.solve(Sigma, np.linalg.svd(M, full_matrices=False)[0][:, :d])
    again = _drawn_anew(_of_more(m, times), M, Sigma)
    drawn = np.linalg.qr(directions(again, whitened(again, covariance(again)), d))[0]
    shared = ((np.linalg.qr(truth)[0].T @ drawn) ** 2).sum((-2, -1))
    return float(np.sqrt(np.maximum(2.0 * (d - shared), 0.0)).mean())


def _without_noise(m: Merged, white: Whitened, d: int) -> Matrix:
    """`M` of rank d, its singular values freed of noise."""
    low_rank = (white.U[:, :d] * np.sqrt(signal(white, m.N)[:d])) @ white.V[:d]
    back = stretch(m, 0.5) @ (white.eigenvectors / white.gains)
    return np.asarray(back @ low_rank @ np.linalg.pinv(white.right))


def _of_more(m: Merged, times: int) -> Merged:
    """The same means per record from so many times as many devices: all noise is smaller."""
    variances = (value / times for value in astuple(m.levels))
    return replace(m, N=times * m.N, levels=Levels(*variances))


def _drawn_anew(m: Merged, M: Matrix, Sigma: Matrix) -> Merged:
    """Merged statistics of federations whose truth is `M` and `Sigma`, on a leading axis.

    The sampling errors of `M` and `Sigma` belong together: a record's part in `M` is its part in
    `Sigma` times `Sigma^-1 M`, plus the record times what regression on the record leaves of the
    slice indicators, whose covariance is `D - p p^T - M^T Sigma^-1 M`.
    """
    p, H = M.shape
    D = m.weights
    slopes = np.linalg.solve(Sigma, M)
    root = _root(Sigma)
    residual = _root(np.diag(D) - np.outer(D, D) - M.T @ slopes)
    rng = np.random.default_rng(_SEED)
    count = min(max(_WORK // p**3, _FEWEST), _MOST)
    F = root @ symmetric_noise(rng, count, p, 2.0 / m.N, 1.0 / m.N) @ root
    E = F @ slopes + root @ rng.standard_normal((count, p, H)) @ residual / m.N**0.5
    E += m.levels.sums**0.5 * rng.standard_normal((count, p, H))
    F += symmetric_noise(rng, count, p, m.levels.diagonal, m.levels.off_diagonal)
    e = m.levels.counts**0.5 * rng.standard_normal((count, H))
    second = Sigma + np.outer(m.mean, m.mean)
    return centred(M + np.outer(m.mean, D) + E, D + e, second + F, m.N, m.levels)


def symmetric_noise(
    rng: np.random.Generator, count: int, p: int, diagonal: float, off_diagonal: float
) -> Matrix:
    """Symmetric noise with the given variances."""
    Z = np.tril(rng.standard_normal((count, p, p))) * off_diagonal**0.5
    Z += np.tril(Z, -1).swapaxes(-1, -2)
    ratio = (diagonal / off_diagonal) ** 0.5 if off_diagonal > 0.0 else 1.0
    Z[:, np.arange(p), np.arange(p)] *= ratio
    return np.asarray(Z)


def _root(S: Matrix) -> Matrix:
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
