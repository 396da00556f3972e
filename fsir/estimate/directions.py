"""The directions in the slice means, every step aware of the noise; leading axes are replications.

Sliced inverse regression (Li 1991) whitens the slice means by the noise of sampling and takes
leading left singular vectors. Here rows and columns are whitened by all of their noise, that of the
mechanism included: without any it is the textbook estimate, with much of it the plain singular
vectors of `M`, as the isotropic noise calls for.

How many directions there are is told by comparing singular values one after the other with what
noise alone, of the mechanism and of sampling together, gives in the dimensions that are left.
Mechanism noise alone as the reference would invent a direction in most runs of a large federation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Eigen, Merged, stretch, unstretched

_ROUNDS = 3  # of the alternation between rows and columns; two are enough
# The largest singular value of white noise follows the Tracy-Widom law; these are its quantiles for
# real matrices.
_CERTAIN = 2.0234  # 99%: a direction that is not there is counted in 1 of 100 federations
_LIKELY = 0.9793  # 95%


@dataclass(frozen=True, eq=False, kw_only=True)
class Whitened:
    """`Y = left M right`, whose noise has variance about 1/N in every entry, and its SVD.

    `left = diag(gains) eigenvectors^T stretch`: after the stretch the mechanism's noise is the same
    in all directions.
    """

    stretch: Matrix | None  # p x p; None for the identity
    eigenvalues: Matrix  # p, of the stretched covariance
    eigenvectors: Matrix  # p x p
    gains: Matrix  # p
    right: Matrix  # H x (H - 1): the rows of M sum to 0, which empties one dimension of the columns
    mechanism: Matrix  # the part of the noise that comes from the mechanism, from 0 to 1
    U: Matrix
    singular_values: Matrix
    V: Matrix  # transposed: Y = U S V


@dataclass(frozen=True, eq=False)
class _Noise:
    """Covariances of the noise between columns: from the mechanism and from sampling."""

    mechanism: Matrix
    sampling: Matrix


@dataclass(frozen=True, eq=False)
class _Factors:
    """A product of rows and columns that is close to the covariance of the noise."""

    rows: Matrix  # p, the diagonal
    columns: Matrix  # (H - 1) x (H - 1)
    mechanism: Matrix  # the mechanism's part of it


def whitened(m: Merged, Sigma: Matrix, eigen: Eigen | None = None) -> Whitened:
    """Whiten rows and columns of `M` by their total noise.

    `N cov(vec M) = a I (x) J^T J + Sigma (x) (D - p p^T)`, mechanism plus sampling, with
    `J = I - 1 p^T` and `a` the noise of the sums; a stretch has made the noise of the counts part
    of the first term. This is not a product of rows and columns; a close one is found by
    alternating between both. `eigen` is what is known of `Sigma` already, without noise.
    """
    contrasts = _contrasts(m.M.shape[-1])
    T = None if unstretched(m) else stretch(m, -0.5)
    values, vectors = eigen or np.linalg.eigh(Sigma if T is None else T @ Sigma @ T)
    factors = _factors(_column_noise(m, contrasts), values, m.N * m.levels.sums)
    gains = factors.rows**-0.5
    right = contrasts @ _inverse_root(factors.columns)
    turned = vectors.swapaxes(-1, -2) if T is None else vectors.swapaxes(-1, -2) @ T
    Y = gains[..., :, None] * (turned @ m.M @ right)
    U, s, V = np.linalg.svd(Y, full_matrices=False)
    return Whitened(
        stretch=T,
        eigenvalues=values,
        eigenvectors=vectors,
        gains=gains,
        right=right,
        mechanism=factors.mechanism,
        U=U,
        singular_values=s,
        V=V,
    )


def _column_noise(m: Merged, contrasts: Matrix) -> _Noise:
    H = m.M.shape[-1]
    D = m.weights
    J = np.eye(H) - D[..., None, :]
    multinomial = np.eye(H) * D[..., None, :] - D[..., :, None] * D[..., None, :]
    return _Noise(
        mechanism=contrasts.T @ J.swapaxes(-1, -2) @ J @ contrasts,
        sampling=contrasts.T @ multinomial @ contrasts,
    )


def _factors(noise: _Noise, values: Matrix, a: float) -> _Factors:
    rows = values
    columns = noise.sampling
    part: Matrix = np.zeros(values.shape[:-1])
    for _ in range(_ROUNDS if a > 0.0 else 0):
        by_mechanism = a * _overlap(columns, noise.mechanism)[..., None]
        rows = by_mechanism + _overlap(columns, noise.sampling)[..., None] * values
        added = a * (1.0 / rows).mean(-1)[..., None, None] * noise.mechanism
        columns = added + (values / rows).mean(-1)[..., None, None] * noise.sampling
        part = _overlap(columns, added)
    return _Factors(rows, columns, part)


def signal(white: Whitened, N: int) -> Matrix:
    """Squared singular values without what noise adds (Benaych-Georges and Nadakuditi 2012).

    Those that noise alone could reach are set to the smallest one that could be seen at all.
    """
    p = white.gains.shape[-1]
    q = white.right.shape[-1]
    above = white.singular_values**2 - (p + q) / N
    root = np.sqrt(np.maximum(above**2 - 4.0 * p * q / N**2, 0.0))
    return np.asarray(np.maximum(0.5 * (above + root), (p * q) ** 0.5 / N))


def directions(m: Merged, white: Whitened, d: int) -> Matrix:
    """`beta = Sigma^-1 U_d`, regularised as the mechanism's noise demands.

    With `A = left Sigma` the k-th whitened direction is `u = A b + noise`, and `b` is found by
    ridge regression whose penalty is the variance of the mechanism's noise, on `M` and through
    `Sigma b`, over the size of `b`.
    """
    A = (white.gains * white.eigenvalues)[..., :, None]
    squares = (A * A).sum(-2, keepdims=True)
    size = signal(white, m.N)[..., None, :d] / squares  # mean square of the entries of b
    penalty = white.mechanism[..., None, None] / (m.N * size)
    penalty = penalty + m.levels.off_diagonal * (white.gains**2).sum(-1)[..., None, None]
    ridge = A / (A * A + penalty) * white.U[..., :d]
    back = white.eigenvectors if white.stretch is None else white.stretch @ white.eigenvectors
    return np.asarray(back @ ridge)


def standardised(m: Merged, Sigma: Matrix, beta: Matrix) -> Matrix:
    """A basis of the same space with uncorrelated coordinates of unit variance.

    The most informative one comes first, and signs are fixed.
    """
    root = np.linalg.cholesky(beta.T @ Sigma @ beta)
    basis = np.linalg.solve(root, beta.T).T
    basis = basis @ np.linalg.svd(basis.T @ m.M / np.sqrt(m.weights), full_matrices=False)[0]
    return np.asarray(basis * fixed_signs(basis))


def fixed_signs(basis: Matrix) -> Matrix:
    """For each direction 1 or -1: times these, its largest entry is positive."""
    largest = basis[np.abs(basis).argmax(0), np.arange(basis.shape[1])]
    return np.where(largest < 0.0, -1.0, 1.0)


def _contrasts(H: int) -> Matrix:
    """An orthonormal basis of the vectors of length H that sum to 0, as columns."""
    rows = [[1.0] * h + [-float(h)] + [0.0] * (H - h - 1) for h in range(1, H)]
    return np.array([np.array(row) / np.linalg.norm(row) for row in rows]).T


def _overlap(noise: Matrix, S: Matrix) -> Matrix:
    """Mean of the eigenvalues of `noise^-1 S`."""
    return np.asarray(np.trace(np.linalg.solve(noise, S), axis1=-2, axis2=-1) / S.shape[-1])


def _inverse_root(S: Matrix) -> Matrix:
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors / np.sqrt(values)[..., None, :]) @ vectors.swapaxes(-1, -2))


# --- how many of them -----------------------------------------------------------------------------


def noise_level(rows: int, columns: int, N: int, quantile: float = _LIKELY) -> float:
    """The 95% quantile of the largest singular value of `rows x columns` noise of variance 1/N.

    By Johnstone (2001); Ma (2012) shifts both dimensions by one half, which makes it accurate to 2%
    for matrices as small as 9 x 2.
    """
    a = (rows - 0.5) ** 0.5
    b = (columns - 0.5) ** 0.5
    edge = (a + b) ** 2 + quantile * (a + b) * (1.0 / a + 1.0 / b) ** (1.0 / 3.0)
    return float((edge / N) ** 0.5)


def count_directions(singular_values: Matrix, rows: int, columns: int, N: int) -> int:
    """How many singular values of whitened slice means stand out of the noise; maybe none."""
    for k, value in enumerate(singular_values):
        if value <= noise_level(rows - k, columns - k, N, _CERTAIN):
            return k
    return len(singular_values)
