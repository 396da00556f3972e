"""Least squares as one would do it where all records lie in one place: a single direction."""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from sim_devices.scenarios.lda import shrunk


def plain(X: Matrix, y: Matrix) -> Matrix:
    """The textbook's, features x 1; where features outnumber records, the shortest of all.

    Its direction is that of scikit-learn's `LinearRegression()`.
    """
    centred = X - X.mean(axis=0)
    return np.asarray(np.linalg.lstsq(centred, y - y.mean(), rcond=None)[0][:, None])


def shrunken(X: Matrix, y: Matrix) -> Matrix:
    """With a covariance that is shrunk as Ledoit and Wolf (2004) have it."""
    centred = X - X.mean(axis=0)
    spread = centred.std(axis=0)
    unit = np.where(spread > 0.0, spread, 1.0)
    rows = centred / unit
    covaries = rows.T @ (y - y.mean()) / len(rows)
    return np.asarray((np.linalg.solve(shrunk(rows), covaries) / unit)[:, None])
