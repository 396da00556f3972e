"""Directions drawn anew where nothing but sampling makes noise, in the small space of the slices.

Of a truth `M` and `Sigma = R R` a federation of N records sees `Sigma' = R (I + W) R`, and
`R^-1 M' = (I + W) C + Z` with `C = R^-1 M`: `Z` is what regression on the records leaves. So
`Sigma'^-1 M' = R^-1 (C + (I + W)^-1 Z)`, and `M'^T Sigma'^-1 M'`, as small as there are slices,
tells the directions in it. One linear system for each replication takes the place of two eigenvalue
problems, with the same numbers to rounding.

Where some directions do not vary at all (features that are sums of others) the draws are made among
those that do: a feature without a variance of its own has no sampling error of its own.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Merged, definite, lowest
from fsir.estimate.directions import Whitened


def inverse_root(m: Merged, white: Whitened) -> Matrix:
    """`R^-1`, symmetric if all directions vary; else with a column for each that does."""
    seen = white.eigenvalues > 2.0 * lowest(m)
    V = white.eigenvectors[:, seen]
    back = V / np.sqrt(white.eigenvalues[seen])
    return np.asarray(back @ V.T if seen.all() else back)


def sampled_directions(
    white: Whitened, shares: Matrix, C: Matrix, W: Matrix, Z: Matrix, d: int
) -> Matrix | None:
    """`R` times the d directions of each federation, drawn as `W` and `Z`.

    None where the estimator would have to repair one of the covariances: within slices it is not
    positive definite.
    """
    A = W + np.eye(W.shape[-1])
    if not definite(A):
        return None
    slopes = C + np.linalg.solve(A, Z)
    explained = (A @ C + Z).swapaxes(-1, -2) @ slopes
    relative = explained / np.sqrt(shares[:, None] * shares)
    if np.linalg.eigvalsh(relative)[..., -1].max() >= 1.0:
        return None
    among = np.linalg.eigh(white.right.T @ explained @ white.right)[1]
    return np.asarray(slopes @ (white.right @ among[..., ::-1][..., :d]))
