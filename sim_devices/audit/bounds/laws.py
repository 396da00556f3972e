"""The law of what a mechanism publishes, given the data: Gaussian, or a certain value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Independent columns, each with covariance `basis diag(variances) basis^T`;
    no basis: the coordinate axes."""

    mean: Matrix  # k x columns
    variances: Matrix  # k
    basis: Matrix | None = None  # k x k, orthonormal

    def variance_along(self, direction: Matrix) -> float:
        """The variance of one column along a unit vector."""
        along = direction if self.basis is None else self.basis.T @ direction
        return float(self.variances @ along**2)

    def directions(self) -> Matrix:
        """The axes of the noise, one per column."""
        return np.eye(len(self.variances)) if self.basis is None else self.basis

    def log_density(self, Y: Matrix) -> Matrix:
        """Of samples (count, columns, k), up to the constant that
        every Gaussian of this size shares."""
        away = Y - self.mean.T
        along = away if self.basis is None else away @ self.basis
        quadratic = (along * along).sum(axis=1) @ (1.0 / self.variances)
        value: Matrix = -0.5 * (quadratic + self.mean.shape[1] * np.log(self.variances).sum())
        return value

    def sample(self, count: int, rng: np.random.Generator) -> Matrix:
        """`count` draws, (count, columns, k)."""
        Z = rng.standard_normal((count, *self.mean.T.shape)) * np.sqrt(self.variances)
        drawn: Matrix = self.mean.T + (Z if self.basis is None else Z @ self.basis.T)
        return drawn

    def loss(self, other: Gaussian) -> tuple[float, float]:
        """Mean (Kullback and Leibler's divergence) and standard
        deviation of `log p/q` under this law."""
        mine = self.directions()
        its = other.directions()
        columns = self.mean.shape[1]
        # This law in the axes of the other one, in units of its noise.
        root = (its.T @ mine) * np.sqrt(self.variances) / np.sqrt(other.variances)[:, None]
        shift = its.T @ (self.mean - other.mean) / np.sqrt(other.variances)[:, None]
        covariance = root @ root.T
        excess = covariance - np.eye(len(covariance))
        volume = np.log(other.variances).sum() - np.log(self.variances).sum()
        mean = 0.5 * (columns * (np.trace(excess) + volume) + (shift * shift).sum())
        variance = 0.5 * columns * (excess * excess).sum() + (shift * (covariance @ shift)).sum()
        return float(mean), math.sqrt(float(variance))


@dataclass(frozen=True)
class Certain:
    """A value that is published with certainty."""

    value: bytes


Law = Gaussian | Certain


def same_noise(first: Gaussian, second: Gaussian) -> bool:
    """Whether two laws differ in their mean only; then their privacy curve is known exactly."""
    if first.basis is not None or second.basis is not None:
        return False
    return first.mean.shape == second.mean.shape and bool(
        np.array_equal(first.variances, second.variances)
    )
