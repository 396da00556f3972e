"""How far off the emitted subspace is expected to be: a bootstrap, all of whose noise is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Levels, Merged, centred, covariance, stretch, unstretched
from fsir.estimate.directions import Whitened, directions, signal, whitened
from fsir.estimate.drawn.sampled import inverse_root, sampled_directions

_SEED = 20130625  # the same integers must give the same published bits
_MOST = 200  # replications ...
_FEWEST = 4
_WORK = 2 * 10**7  # ... times p^3: from p = 47 on fewer, which bounds the time to seconds


def expected_loss(
    m: Merged,
    Sigma: Matrix,
    white: Whitened,
    d: int,
    times: int = 1,
    repair: Callable[[Merged], Matrix] = covariance,
) -> float:
    """The expected projection loss of the estimate with `d` directions.

    The estimate, with singular values freed of noise, is taken as the truth; noise of mechanism and
    sampling is drawn anew, that of so many times as many devices, and the same estimator runs on
    it, with the same `repair` of the covariance.
    """
    M = _without_noise(m, white, d)
    more = _of_more(m, times)
    losses = _sampling_losses(more, M, white, d) if m.levels.silent else None
    if losses is None:
        truth = np.linalg.solve(Sigma, np.linalg.svd(M, full_matrices=False)[0][:, :d])
        again = _drawn_anew(more, M, Sigma)
        losses = _losses(truth, directions(again, whitened(again, repair(again)), d))
    return float(losses.mean())


def _losses(truth: Matrix, drawn: Matrix) -> Matrix:
    shared = ((np.linalg.qr(truth)[0].T @ np.linalg.qr(drawn)[0]) ** 2).sum((-2, -1))
    return np.asarray(np.sqrt(np.maximum(2.0 * (truth.shape[-1] - shared), 0.0)))


def _sampling_losses(m: Merged, M: Matrix, white: Whitened, d: int) -> Matrix | None:
    """The same losses, from the same draws, where no mechanism makes noise."""
    back = inverse_root(m, white)
    C = back.T @ M
    p, H = C.shape
    rng = np.random.default_rng(_SEED)
    count = _count(len(M))
    W = symmetric_noise(rng, count, p, 2.0 / m.N, 1.0 / m.N)
    Z = rng.standard_normal((count, p, H)) @ _residual(m.weights, C.T @ C) / m.N**0.5
    drawn = sampled_directions(white, m.weights, C, W, Z, d)
    truth = back @ (C @ np.linalg.svd(M, full_matrices=False)[2][:d].T)
    return None if drawn is None else _losses(truth, back @ drawn)


def _count(p: int) -> int:
    return min(max(_WORK // p**3, _FEWEST), _MOST)


def _residual(D: Matrix, explained: Matrix) -> Matrix:
    """A root of what regression on the record leaves of the slice indicators."""
    return _root(np.diag(D) - np.outer(D, D) - explained)


def _without_noise(m: Merged, white: Whitened, d: int) -> Matrix:
    """`M` of rank d, its singular values freed of noise."""
    low_rank = (white.U[:, :d] * np.sqrt(signal(white, m.N)[:d])) @ white.V[:d]
    back = white.eigenvectors / white.gains
    if not unstretched(m):
        back = stretch(m, 0.5) @ back
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
    residual = _residual(D, M.T @ slopes)
    rng = np.random.default_rng(_SEED)
    count = _count(p)
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
    if diagonal == off_diagonal == 0.0:
        return np.zeros((count, p, p))
    Z = rng.standard_normal((count, p, p))
    Z *= off_diagonal**0.5
    ratio = (diagonal / off_diagonal) ** 0.5 if off_diagonal > 0.0 else 1.0
    every = np.arange(p)
    own = Z[:, every, every] * ratio
    below = np.tril(Z, -1)
    np.add(below, below.swapaxes(-1, -2), out=Z)
    Z[:, every, every] = own
    return Z


def _root(S: Matrix) -> Matrix:
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
