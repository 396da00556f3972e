"""The directions in the slice means, every step aware of the noise; leading axes are replications.

Sliced inverse regression (Li 1991) whitens the slice means by the noise of sampling and takes leading left singular
vectors. Here rows and columns are whitened by all of their noise, that of the mechanism included: without any it is
the textbook estimate, with much of it the plain singular vectors of `M`, as the isotropic noise calls for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.estimate.covariance import Matrix, Merged, stretch

_ROUNDS = 3  # of the alternation between rows and columns; it settles after two


@dataclass(frozen=True, eq=False)
class Whitened:
    """`Y = left M right`, whose noise has variance about 1/N in every entry, and its singular value decomposition.

    `left = diag(gains) eigenvectors^T stretch`: after the stretch the mechanism's noise is the same in all directions.
    """

    stretch: Matrix  # p x p
    eigenvalues: Matrix  # p, of the stretched covariance
    eigenvectors: Matrix  # p x p
    gains: Matrix  # p
    right: (
        Matrix  # H x (H - 1): the rows of M sum to 0, so that one dimension of the columns is empty
    )
    mechanism: Matrix  # the part of the noise that comes from the mechanism, from 0 to 1
    U: Matrix
    singular_values: Matrix
    V: Matrix  # transposed: Y = U S V


def whitened(m: Merged, Sigma: Matrix) -> Whitened:
    """Whiten rows and columns of `M` by their total noise.

    `N cov(vec M) = a I (x) J^T J + Sigma (x) (D - p p^T)`, mechanism plus sampling, with `J = I - 1 p^T` and `a` the
    noise of the sums; a stretch has made the noise of the counts part of the first term. This is not a product of
    rows and columns; a close one is found by alternating between both.
    """
    H = m.M.shape[-1]
    contrasts, D, a = _contrasts(H), m.weights, m.N * m.levels.sums
    J = np.eye(H) - D[..., None, :]
    mechanism = contrasts.T @ J.swapaxes(-1, -2) @ J @ contrasts
    sampling = (
        contrasts.T @ (np.eye(H) * D[..., None, :] - D[..., :, None] * D[..., None, :]) @ contrasts
    )
    T = stretch(m, -0.5)
    values, vectors = np.linalg.eigh(T @ Sigma @ T)
    rows, columns, part = values, sampling, np.zeros(m.M.shape[:-2])
    for _ in range(_ROUNDS if a > 0.0 else 0):
        rows = (
            a * _overlap(columns, mechanism)[..., None]
            + _overlap(columns, sampling)[..., None] * values
        )
        noise = a * (1.0 / rows).mean(-1)[..., None, None] * mechanism
        columns = noise + (values / rows).mean(-1)[..., None, None] * sampling
        part = _overlap(columns, noise)
    gains, right = rows**-0.5, contrasts @ _inverse_root(columns)
    Y = gains[..., :, None] * (vectors.swapaxes(-1, -2) @ T @ m.M @ right)
    return Whitened(T, values, vectors, gains, right, part, *np.linalg.svd(Y, full_matrices=False))


def signal(white: Whitened, N: int) -> Matrix:
    """Squared singular values without what noise adds to them (Benaych-Georges and Nadakuditi 2012).

    Those that noise alone could reach are set to the smallest one that could be seen at all.
    """
    p, q = white.gains.shape[-1], white.right.shape[-1]
    above = white.singular_values**2 - (p + q) / N
    root = np.sqrt(np.maximum(above**2 - 4.0 * p * q / N**2, 0.0))
    return np.asarray(np.maximum(0.5 * (above + root), (p * q) ** 0.5 / N))


def directions(m: Merged, white: Whitened, d: int) -> Matrix:
    """`beta = Sigma^-1 U_d`, regularised as the mechanism's noise demands.

    With `A = left Sigma` the k-th whitened direction is `u = A b + noise`, and `b` is found by ridge regression whose
    penalty is the variance of the mechanism's noise, on `M` and through `Sigma b`, over the size of `b`.
    """
    A = (white.gains * white.eigenvalues)[..., :, None]
    size = signal(white, m.N)[..., None, :d] / (A * A).sum(
        -2, keepdims=True
    )  # mean square of the entries of b
    penalty = white.mechanism[..., None, None] / (m.N * size)
    penalty = penalty + m.levels.off_diagonal * (white.gains**2).sum(-1)[..., None, None]
    return np.asarray(
        white.stretch @ white.eigenvectors @ (A / (A * A + penalty) * white.U[..., :d])
    )


def standardised(m: Merged, Sigma: Matrix, beta: Matrix) -> Matrix:
    """A basis of the same space: uncorrelated coordinates of unit variance, the most informative first, signs fixed."""
    root = np.linalg.cholesky(beta.T @ Sigma @ beta)
    basis = np.linalg.solve(root, beta.T).T
    basis = basis @ np.linalg.svd(basis.T @ m.M / np.sqrt(m.weights), full_matrices=False)[0]
    largest = basis[np.abs(basis).argmax(0), np.arange(basis.shape[1])]
    return np.asarray(basis * np.where(largest < 0.0, -1.0, 1.0))


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
