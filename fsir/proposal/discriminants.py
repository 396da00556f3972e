"""A public map: the coordinates in which a public sample tells slices apart, and what they lack.

First the discriminant directions of the sample itself, then those that it would have if its
covariance were less certain, then its principal directions: in whatever order more of them are
taken, the sample's own classifier lies within the first ones. In these coordinates the covariance
within slices is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.arrays import Flags, Integers, Matrix

RIDGES = (0.1, 0.3, 1.0)  # in units of the mean variance within slices: what may be added to it
_LESS_CERTAIN = (1.0, 10.0, 100.0)  # times the ridge, for further directions
_LEAST_RIDGE = 1e-3  # of the mean total variance
_NEW = 1e-6  # what must be left of a direction beside those before it, relative to its length
_FOLDS = 5
_WORST_LOG = -5.0  # a single record that is wholly unexpected decides nothing


@dataclass(frozen=True, eq=False)
class Ridged:
    """`W + ridge`, W the covariance within slices, by the singular vectors of the residuals."""

    vectors: Matrix  # rows x features, orthonormal
    values: Matrix  # variances along them
    ridge: float  # variance in all other directions

    def power(self, exponent: float, A: Matrix) -> Matrix:
        """A power of it times the columns of A."""
        along = (self.values + self.ridge) ** exponent - self.ridge**exponent
        return np.asarray(
            self.ridge**exponent * A + self.vectors.T @ (along[:, None] * (self.vectors @ A))
        )


def slice_means(X: Matrix, slices: Integers, H: int) -> Matrix:
    """The mean of each slice, slices x features; that of all records where it has none."""
    overall = X.mean(axis=0)
    rows = [X[slices == h] for h in range(H)]
    return np.stack([part.mean(axis=0) if len(part) else overall for part in rows])


def ridged(X: Matrix, slices: Integers, H: int, ridge: float) -> Ridged:
    """The covariance within slices, and the ridge in units of its mean eigenvalue.

    Slices that hardly scatter in the sample do so elsewhere: the ridge is no less than a part of
    the total variance.
    """
    residuals = X - slice_means(X, slices, H)[slices]
    freedom = max(len(X) - H, 1)
    _, s, vectors = np.linalg.svd(residuals / freedom**0.5, full_matrices=False)
    mean = float((s**2).sum()) / min(freedom, X.shape[1])
    return Ridged(vectors, s**2, max(ridge * mean, _LEAST_RIDGE * float(X.var(axis=0).mean())))


def discriminant_map(X: Matrix, slices: Integers, H: int, ridge: float, most: int) -> Matrix:
    """The map of standardised records, features x at most so many coordinates, nested."""
    W = ridged(X, slices, H, ridge)
    means = slice_means(X, slices, H)
    apart = (means - means.mean(axis=0)).T
    candidates = []
    for factor in _LESS_CERTAIN:
        wider = Ridged(W.vectors, W.values, factor * W.ridge)
        candidates.append(
            np.linalg.svd(wider.power(-1.0, apart), full_matrices=False)[0][:, : H - 1]
        )
    candidates.append(np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2].T)
    return W.power(-0.5, _orthonormal(W.power(0.5, np.concatenate(candidates, axis=1)), most))


def _orthonormal(A: Matrix, most: int) -> Matrix:
    """The columns of A made orthonormal one after the other, without those that add nothing."""
    basis: Matrix = np.empty((len(A), 0))
    for column in A.T:
        if basis.shape[1] == most:
            break
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)  # again, for what rounding has left
        length = float(np.linalg.norm(rest))
        if length > _NEW * float(np.linalg.norm(column)):
            basis = np.column_stack([basis, rest / length])
    return basis


def choose_ridge(X: Matrix, slices: Integers, H: int, folds: Integers) -> float:
    """The ridge under which held-out records are the least unexpected."""
    fits = sum(_fits(X, slices, H, folds == k) for k in np.unique(folds))
    return RIDGES[int(np.argmax(fits))]


def _fits(X: Matrix, slices: Integers, H: int, held_out: Flags) -> Matrix:
    """The log likelihood of the slices of held-out records, by the others, for each ridge."""
    known = ~held_out
    means = slice_means(X[known], slices[known], H)
    apart = (means - means.mean(axis=0)).T
    fits = []
    W = ridged(X[known], slices[known], H, 1.0)
    for ridge in RIDGES:
        weights = Ridged(W.vectors, W.values, ridge * W.ridge).power(-1.0, apart)
        scores = (X[held_out] - means.mean(axis=0)) @ weights - 0.5 * (weights * apart).sum(0)
        fits.append(_log_likelihood(scores, slices[held_out]))
    return np.array(fits)


def _log_likelihood(scores: Matrix, slices: Integers) -> float:
    largest = scores.max(axis=1)
    logs = scores[np.arange(len(scores)), slices] - largest
    logs -= np.log(np.exp(scores - largest[:, None]).sum(axis=1))
    return float(np.maximum(logs, _WORST_LOG).sum())


def blocks(slices: Integers, H: int, count: int = _FOLDS) -> Integers:
    """Which of so many blocks each record is in: neighbours of a slice stay together.

    >>> blocks(np.array([0, 0, 1, 0, 0, 1]), 2, 2)
    array([0, 0, 0, 1, 1, 1])
    """
    block = np.zeros(len(slices), np.int64)
    for h in range(H):
        rows = np.flatnonzero(slices == h)
        block[rows] = np.arange(len(rows)) * count // max(len(rows), 1)
    return block
