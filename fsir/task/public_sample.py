"""What a public sample tells a task: features to ask about, where they lie, how long records are.

A sample is public if everyone in it has agreed to publish it: a volunteer, a data set. Whatever is
read off it costs no privacy, so that devices need not be asked: a screening report about hundreds
of features becomes a choice in advance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Flags, Matrix
from fsir.task.slicing import UNKNOWN

TRUNCATE = 3.0  # R, in standard deviations of the sample
# Other people's records spread more within a slice than those of the few people of a sample: take
# them to differ from these by as much again as these differ among themselves. Without it a feature
# that tells one person's activities apart by a hair's breadth would be preferred to one that does
# so for everybody. Of 0.05, 0.2 and 1 this did best on HAPT (docs/simulator.md).
STRANGERS = 1.0
_SMALLEST = 1e-9  # relative: less is rounding error


@dataclass(frozen=True, eq=False)
class Standard:
    """Centre and scale of each feature, and the clip on the length of a standardised record."""

    centre: Matrix
    scale: Matrix
    norm: float


def varying(X: Matrix) -> Flags:
    """Which features of a sample, n x p, are not constant but for rounding errors."""
    varies: Flags = X.std(axis=0) > _SMALLEST * np.abs(X).max(axis=0)
    return varies


def standard(X: Matrix) -> Standard:
    """From the records of a sample, n x p. A feature that is constant there keeps its unit.

    Half of the records keep their length: noise grows with the clip, and the distortion of a few
    long ones is small.
    """
    centre = X.mean(axis=0)
    scale = np.where(varying(X), X.std(axis=0), 1.0)
    lengths = np.linalg.norm(np.clip((X - centre) / scale, -TRUNCATE, TRUNCATE), axis=1)
    return Standard(centre, scale, float(np.median(lengths)))


def forward_selection(X: Matrix, slices: NDArray[np.integer], keep: int) -> tuple[int, ...]:
    """The features that together tell the slices apart best, in the order in which they were found.

    Stepwise discriminant analysis: in each step the feature that most increases
    `log det T - log det W` (Wilks' lambda), with T and W the covariance of all records and within
    slices. Constant features are never taken, and records whose slice is unknown do not count.

    >>> import numpy as np
    >>> slices = np.arange(60) % 2
    >>> noise = np.random.default_rng(0).normal(size=(60, 3))
    >>> forward_selection(noise + 9 * np.outer(slices, [0, 0, 1]), slices, keep=1)
    (2,)
    """
    known = slices != UNKNOWN
    X = X[known]
    left = varying(X)
    T, W = _scatters(X, slices[known], np.where(left, X.std(axis=0), 1.0))
    chosen: list[int] = []
    while left.any() and len(chosen) < keep:
        best = int(np.where(left, np.log(np.diag(T)) - np.log(np.diag(W)), -np.inf).argmax())
        chosen.append(best)
        left[best] = False
        T, W = _given(T, best), _given(W, best)
    return tuple(chosen)


def _scatters(X: Matrix, slices: NDArray[np.integer], unit: Matrix) -> tuple[Matrix, Matrix]:
    """T and W in these units, both with what strangers add."""
    _, slices = np.unique(slices, return_inverse=True)
    within = X - np.stack([X[slices == h].mean(axis=0) for h in range(slices.max() + 1)])[slices]
    total = X - X.mean(axis=0)
    W = (within / unit).T @ (within / unit) / len(X)
    T = (total / unit).T @ (total / unit) / len(X)
    strangers = np.diag(STRANGERS * np.diag(W) + _SMALLEST)
    return T + strangers, W + strangers


def _given(S: Matrix, j: int) -> Matrix:
    """What the others still add, given feature j: a Schur complement.

    Its diagonal stays above that of `strangers`.
    """
    S = S - np.outer(S[:, j], S[j]) / S[j, j]
    S[j, j] = 1.0  # done with; 0 would have no logarithm
    return S
