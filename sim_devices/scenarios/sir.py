"""Sliced inverse regression as one would do it where all records lie in one place (Li 1991)."""

from __future__ import annotations

import numpy as np

from fsir.arrays import Integers, Matrix

_SMALLEST = 1e-10  # share of the largest variance: less is rounding error


def plain(X: Matrix, slices: Integers, dimension: int) -> Matrix:
    """The textbook's directions, features x dimension: slice means, whitened by the covariance."""
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
    kept = values > _SMALLEST * values[-1]
    white = vectors[:, kept] / np.sqrt(values[kept])
    known = np.unique(slices)
    means = np.stack([centred[slices == h].mean(axis=0) for h in known])
    shares = np.array([np.mean(slices == h) for h in known])
    rows = np.sqrt(shares)[:, None] * (means @ white)
    turned = np.linalg.svd(rows, full_matrices=False)[2][:dimension]
    return np.asarray(white @ turned.T)


def explained(Z: Matrix, y: Matrix) -> float:
    """R^2: the share of the variance of y that a line on the coordinates Z explains."""
    if not np.ptp(y):  # nothing varies, so there is nothing to explain
        return 0.0
    design = np.column_stack([np.ones(len(Z)), Z])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return 1.0 - float(np.mean(rest**2)) / float(np.var(y))
