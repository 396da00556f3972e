"""The merged statistics of a federation, centred, and a covariance that can be inverted.

Devices never centre (erratum E9): they release sums and counts, and centring happens here, after
merging. The variance of the mechanism's noise is public and exact, so every step takes it into
account. All functions work on leading axes of replications as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.totals import Totals

Eigen = tuple[Matrix, Matrix]  # values, and vectors as columns
_TINY = 1e-12  # features are publicly scaled: a smaller variance is that of a constant


@dataclass(frozen=True)
class Levels:
    """Variances of the known noise on merged means per record, block by block.

    It is that of the mechanism and, where reports have been trimmed, of trimming.
    """

    sums: float
    counts: float
    diagonal: float
    off_diagonal: float

    @property
    def silent(self) -> bool:
        """Whether there is no such noise at all."""
        return self.sums == self.counts == self.diagonal == self.off_diagonal == 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Merged:
    """Slice shares, mean, centred slice sums and covariance, per record."""

    N: int
    shares: Matrix  # H, they sum to 1; a noisy one may be negative
    mean: Matrix  # p
    M: Matrix  # p x H, its rows sum to 0
    Sigma: Matrix  # p x p, as it comes: maybe not positive definite
    levels: Levels

    @property
    def weights(self) -> Matrix:
        """Slice shares that may be divided by: none is below its own noise, or below one record."""
        shares = np.maximum(self.shares, max(1.0 / self.N, self.levels.counts**0.5))
        return np.asarray(shares / shares.sum(-1, keepdims=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Means:
    """What reports add up to, per record, and the known noise on it."""

    N: int
    sums: Matrix  # p x H
    counts: Matrix  # H
    second: Matrix  # p x p
    levels: Levels


def means(totals: Totals, accepted: int | None = None) -> Means:
    """Sums, counts and second moment per record, of which so many were learned."""
    N = totals.accepted if accepted is None else accepted
    levels = Levels(*(totals.noises * block.variance / N**2 for block in totals.stage.blocks))
    G = totals.sums() / N
    T = totals.second() / N
    levels = trimmed(levels, T, G.shape[-1], N, totals.inflation)
    return Means(N=N, sums=G, counts=totals.counts() / N, second=T, levels=levels)


def merged(totals: Totals) -> Merged:
    """Merge and centre: `mean = sum_h G_h/N`, `M = G/N - mean p^T`, `Sigma = T/N - mean mean^T`."""
    m = means(totals)
    return centred(m.sums, m.counts, m.second, m.N, m.levels)


def trimmed(levels: Levels, T: Matrix, H: int, N: int, inflation: float) -> Levels:
    """The known noise where trimming has raised every variance, sampling included, by a factor.

    What trimming adds is nearly independent from value to value, as the mechanism's noise is: to
    normal values of correlation rho it adds a covariance of at most `(inflation - 1) rho^3` times
    their variance. The variance of sampling is that of features with the same mean square and of
    slices of the same size.
    """
    if inflation == 1.0:
        return levels
    t = max(float(np.trace(T, axis1=-2, axis2=-1).mean()) / T.shape[-1], 0.0)
    sampling = (t / H / N, (H - 1) / H**2 / N, 2.0 * t * t / N, t * t / N)
    known = (levels.sums, levels.counts, levels.diagonal, levels.off_diagonal)
    return Levels(*(v + (inflation - 1.0) * (v + s) for v, s in zip(known, sampling, strict=True)))


def centred(G: Matrix, counts: Matrix, T: Matrix, N: int, levels: Levels) -> Merged:
    """Centre slice sums `G`, slice shares `counts` and second moment `T`, all per record."""
    # The number of records is public: what noisy shares lack of 1 is noise, and the best guess
    # spreads it evenly.
    shares = counts + (1.0 - counts.sum(-1, keepdims=True)) / counts.shape[-1]
    mean = G.sum(-1)
    M = G - mean[..., :, None] * shares[..., None, :]
    # The square of a noisy mean is too large by the variance of its noise.
    p, H = G.shape[-2:]
    square = mean[..., :, None] * mean[..., None, :] - H * levels.sums * np.eye(p)
    return Merged(N=N, shares=shares, mean=mean, M=M, Sigma=T - square, levels=levels)


def unstretched(m: Merged) -> bool:
    """Whether every `stretch` is the identity: without noise of the counts there is no such one."""
    return m.levels.counts == 0.0 or m.levels.sums == 0.0


def stretch(m: Merged, power: float) -> Matrix:
    """A power of the row covariance of the mechanism's noise on `M`.

    It is in units of the noise of the sums. Noise of the counts enters `M` times the mean: in that
    one direction there is more noise than in the others.
    """
    square = (m.mean**2).sum(-1)[..., None, None]
    ratio = 0.0 if unstretched(m) else m.levels.counts / m.levels.sums
    along = ((1.0 + ratio * square) ** power - 1.0) / np.maximum(square, _TINY)
    eye = np.eye(m.mean.shape[-1])
    return np.asarray(eye + along * m.mean[..., :, None] * m.mean[..., None, :])


def between(m: Merged) -> Matrix:
    """The covariance of the slice means: `M D^-1 M^T` without what the mechanism's noise adds."""
    D = m.weights
    H = m.M.shape[-1]
    noise = m.levels.sums * (((1.0 - D) ** 2 + (H - 1) * D**2) / D).sum(-1)
    U, s, _ = np.linalg.svd(stretch(m, -0.5) @ m.M / np.sqrt(D)[..., None, :], full_matrices=False)
    root = stretch(m, 0.5) @ (U * np.sqrt(np.maximum(s**2 - noise[..., None], 0.0))[..., None, :])
    return np.asarray(root @ root.swapaxes(-1, -2))


def covariance(m: Merged) -> Matrix:
    """A positive definite covariance: shrunk as far as the known noise explains what it shrinks.

    The covariance is `tau I + gamma B` plus the rest, `B` the covariance of the slice means; both
    numbers are fitted. The more of the rest the known noise explains, the more of it goes (James
    and Stein); without noise all of it stays. The identity is a sensible centre because features
    are publicly scaled; `B` is one because it is known much better than the second moment: without
    it, strong responses would look like noise in a covariance.
    """
    gamma, B = of_slices(m)
    return np.asarray(_repaired(m, m.Sigma - gamma * B) + gamma * B)


def of_slices(m: Merged) -> tuple[Matrix, Matrix]:
    """How much of the covariance of the slice means is in the covariance, and the former."""
    B = between(m)
    B0 = B - mean_eigenvalue(B) * np.eye(B.shape[-1])
    gamma = (B0 * m.Sigma).sum((-2, -1)) / np.maximum((B0 * B0).sum((-2, -1)), _TINY**2)
    return np.clip(gamma, 0.0, 1.0)[..., None, None], B


def lifted(m: Merged) -> tuple[Merged, Eigen]:
    """Without noise: a covariance of which no eigenvalue is too low, and what it is made of."""
    values, vectors = np.linalg.eigh(m.Sigma)
    low = lowest(m)
    if (values < low).any():
        values = np.maximum(values, low)
        m = replace(m, Sigma=(vectors * values) @ vectors.T)
    return m, (values, vectors)


def within(m: Merged) -> Matrix:
    """A positive definite covariance within slices, repaired in the same way."""
    return _repaired(m, m.Sigma - between(m))


def _repaired(m: Merged, S: Matrix) -> Matrix:
    if m.levels.silent and definite(S - 0.5 * lowest(m)[..., None] * np.eye(S.shape[-1])):
        return S  # nothing is shrunk, and nothing lifted
    rest = S - mean_eigenvalue(S) * np.eye(S.shape[-1])
    return positive(m, S - intensity(noise_size(m), rest) * rest)


def intensity(noise: Matrix, rest: Matrix) -> Matrix:
    """How much of `rest` goes, where noise explains so much of its sum of squares."""
    size = np.maximum((rest * rest).sum((-2, -1), keepdims=True), _TINY**2)
    return np.asarray(np.minimum(noise / size, 1.0))


def positive(m: Merged, S: Matrix) -> Matrix:
    """A covariance of which no eigenvalue is too low."""
    values, vectors = np.linalg.eigh(S)
    raised = np.maximum(values, lowest(m))
    return np.asarray((vectors * raised[..., None, :]) @ vectors.swapaxes(-1, -2))


def lowest(m: Merged) -> Matrix:
    """An eigenvalue below the noise of a single entry says no more than that it is small."""
    entry = max(m.levels.off_diagonal**0.5, _TINY)
    return np.asarray(np.maximum(1e-10 * mean_eigenvalue(m.Sigma)[..., 0], entry))


def definite(S: Matrix) -> bool:
    """Whether a matrix, or each of several, is positive definite: cheaper than its eigenvalues."""
    try:
        np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return False
    return True


def noise_size(m: Merged) -> Matrix:
    """The expected sum of squares of the known noise in a covariance."""
    p, H = m.M.shape[-2:]
    noise = p * m.levels.diagonal + p * (p - 1) * m.levels.off_diagonal
    # The noise of the mean enters through its square.
    through_mean = 2 * (p + 1) * H * m.levels.sums * (m.mean**2).sum(-1)[..., None, None]
    return np.asarray(noise + through_mean)


def mean_eigenvalue(S: Matrix) -> Matrix:
    """Of each matrix, with axes kept."""
    return np.asarray(np.trace(S, axis1=-2, axis2=-1)[..., None, None] / S.shape[-1])
