"""Linear discriminant analysis as one would do it where all records lie in one place.

It knows neither clips nor noise: it is what a federation is held against, never a part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix

_TOLERANCE = 1e-4  # of singular values within classes; scikit-learn's
_CONSTANT = 1e-12  # a smaller spread is rounding error


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear classifier: the class with the largest of `X weights + bias`."""

    classes: NDArray[Any]
    weights: Matrix  # features x classes
    bias: Matrix

    def predict(self, X: Matrix) -> NDArray[Any]:
        """The class of each row."""
        return np.asarray(self.classes[(X @ self.weights + self.bias).argmax(axis=1)])


@dataclass(frozen=True, eq=False, kw_only=True)
class _Sample:
    """Records by class, in units of the spread within classes."""

    classes: NDArray[Any]
    shares: Matrix
    unit: Matrix
    mean: Matrix
    means: Matrix  # classes x features, less the mean of all, in units
    within: Matrix  # records less the mean of their class, in units

    def linear(self, weights: Matrix) -> Linear:
        """The classifier with these weights of features in units."""
        bias = np.log(self.shares) - 0.5 * (self.means * weights.T).sum(axis=1)
        raw = weights / self.unit[:, None]
        return Linear(self.classes, raw, bias - self.mean @ raw)


def plain(X: Matrix, y: NDArray[Any]) -> Linear:
    """The textbook's: directions in which the classes do not vary at all do not count.

    Its predictions are those of scikit-learn's `LinearDiscriminantAnalysis()`.
    """
    sample = _sample(X, y)
    singular, vectors = _principal(sample.within / np.sqrt(len(X)))
    if not len(singular):  # a single record of each class, say: the shares are all there is
        return sample.linear(np.zeros_like(sample.means.T))
    white = vectors / singular
    spread = np.sqrt(len(X) * sample.shares / max(len(sample.classes) - 1, 1))
    _, between, W = np.linalg.svd(spread[:, None] * (sample.means @ white), full_matrices=False)
    turned = white @ W[between > _TOLERANCE * between[0]].T
    return sample.linear(turned @ (sample.means @ turned).T)


def _principal(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Singular values above the tolerance, and their right singular vectors, as columns.

    By the smaller of the two products of the rows, which is many times as fast as to decompose the
    rows themselves; what that loses lies far below the tolerance.
    """
    n, p = rows.shape
    values, vectors = np.linalg.eigh(rows.T @ rows if p <= n else rows @ rows.T)
    kept = values > _TOLERANCE**2
    singular = np.sqrt(values[kept])
    vectors = vectors[:, kept]
    return singular, np.asarray(vectors if p <= n else rows.T @ vectors / singular)


def shrunken(X: Matrix, y: NDArray[Any]) -> Linear:
    """With a covariance that is shrunk as Ledoit and Wolf (2004) have it.

    Where features outnumber records, this is much the better one of the two.
    """
    sample = _sample(X, y)
    return sample.linear(np.asarray(np.linalg.solve(shrunk(sample.within), sample.means.T)))


def shrunken_by_class(X: Matrix, y: NDArray[Any]) -> Linear:
    """With the covariance of each class shrunk alone, and then the mean of these.

    Its predictions are those of scikit-learn's
    `LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")`.
    """
    sample = _sample(X, y)
    rows = sample.within * sample.unit
    parts = [rows[y == label] for label in sample.classes]
    covariance = sum(
        share * _shrunk_in_units(part) for share, part in zip(sample.shares, parts, strict=True)
    )
    scaled = covariance / np.outer(sample.unit, sample.unit)
    return sample.linear(np.linalg.lstsq(scaled, sample.means.T, rcond=None)[0])


def _shrunk_in_units(rows: Matrix) -> Matrix:
    """The covariance of one class, shrunk where every feature that varies has unit variance."""
    spread = rows.std(axis=0)
    unit = np.where(spread > _CONSTANT * np.abs(rows).max(axis=0), spread, 1.0)
    return np.asarray(shrunk(rows / unit) * np.outer(unit, unit))


def shrunk(rows: Matrix) -> Matrix:
    """The covariance of centred rows, drawn towards a multiple of the identity."""
    S = rows.T @ rows / len(rows)
    intensity = ledoit_wolf(rows)
    return np.asarray((1.0 - intensity) * S + intensity * np.trace(S) / len(S) * np.eye(len(S)))


def ledoit_wolf(rows: Matrix) -> float:
    """How far the covariance of centred rows is best drawn towards a multiple of the identity."""
    n, p = rows.shape
    squares = rows**2
    mean = squares.sum() / n / p
    size = float(((rows.T @ rows) ** 2).sum()) / n**2
    noise = (float((squares.sum(axis=1) ** 2).sum()) / n - size) / (p * n)
    distance = size / p - mean**2
    return float(np.clip(noise / distance, 0.0, 1.0)) if distance > 0.0 else 1.0


def _sample(X: Matrix, y: NDArray[Any]) -> _Sample:
    classes, slices, counts = np.unique(y, return_inverse=True, return_counts=True)
    means = np.stack([X[slices == h].mean(axis=0) for h in range(len(classes))])
    shares = counts / len(X)
    within = X - means[slices]
    spread = within.std(axis=0)
    unit = np.where(spread > 0.0, spread, 1.0)
    mean = shares @ means
    return _Sample(
        classes=classes,
        shares=shares,
        unit=unit,
        mean=mean,
        means=(means - mean) / unit,
        within=within / unit,
    )
