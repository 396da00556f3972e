"""What may be expected of an estimate: how often its classifier is right, how far off it is.

Both are computed by drawing the truth from what is known of it. Where a classifier is concerned
that is more than the classifier itself was made of: in its few directions the reports say quite
exactly how far slices are shifted and how widely records scatter, those of strangers included,
while the public sample, which the directions were made from, is too good to be true there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.estimate.posterior import Posterior, Reported, shrunk, variances_tried

_SEED = 20130625  # the same integers must give the same published bits
_TRUTHS = 64  # drawn ...
_RECORDS = 16  # ... and records of each class in each of them
_FARTHEST = 10.0  # shift of a slice along directions that fit one sample well, as a variance
_HOTTEST = 1e3


@dataclass(frozen=True, eq=False, kw_only=True)
class Discriminant:
    """Linear scores `z @ weights^T + bias` of records in some directions, `z = r @ basis`."""

    basis: Matrix  # coordinates x directions
    weights: Matrix  # classes x directions
    bias: Matrix


@dataclass(frozen=True)
class Prediction:
    """How often a classifier is right, and what its scores must be divided by to say so."""

    accuracy: float
    temperature: float


def predicted(rule: Discriminant, known: Posterior) -> Prediction:
    """What to expect of the rule on records of people who took no part."""
    truth, right = _records_drawn(rule.basis, known)
    scores = truth @ rule.weights.T + rule.bias
    weights = np.repeat(known.shares, _TRUTHS * _RECORDS) / (_TRUTHS * _RECORDS)
    accuracy = float(weights[scores.argmax(-1) == right].sum())
    return Prediction(accuracy, _temperature(scores, weights, accuracy))


def _records_drawn(basis: Matrix, known: Posterior) -> tuple[Matrix, Integers]:
    """Records in the given directions, and the classes that they are of, all equally often."""
    rng = np.random.default_rng(_SEED)
    # In directions of unit variance within slices of the sample.
    root = np.linalg.cholesky(basis.T @ basis)
    own = np.linalg.solve(root, basis.T)
    H = len(known.shares)
    k = len(root)
    centres, variances = _centres(own, known.reported)
    spread = np.linalg.cholesky(_spread(own, known.reported))
    centres = centres[:, None] + np.sqrt(variances)[:, None, None] * rng.standard_normal(
        (H, _TRUTHS, k)
    )
    records = centres[:, :, None] + rng.standard_normal((H, _TRUTHS, _RECORDS, k)) @ spread.T
    classes = np.repeat(np.arange(H), _TRUTHS * _RECORDS)
    return records.reshape(-1, k) @ root.T, classes


def _centres(own: Matrix, reported: Reported) -> tuple[Matrix, Matrix]:
    """Where the slices lie along a few directions, and the variance of that."""
    tried = variances_tried(1e3, _FARTHEST)
    found = [
        shrunk(own @ shift, noise, tried)
        for shift, noise in zip(reported.shifts, reported.noise, strict=True)
    ]
    shifts = np.stack([shift for shift, _ in found])
    return reported.prior @ own.T + shifts, np.array([variance for _, variance in found])


def _spread(own: Matrix, reported: Reported) -> Matrix:
    """How widely records scatter along these directions: no less than in the sample."""
    k = len(own)
    excess = own @ reported.spread @ own.T - np.eye(k)
    size = max(float((excess * excess).sum()), 1e-300)
    excess = excess * max(1.0 - k * (k + 1) * reported.spread_noise / size, 0.0)
    values, vectors = np.linalg.eigh(excess)
    return np.asarray(np.eye(k) + (vectors * np.maximum(values, 0.0)) @ vectors.T)


def _temperature(scores: Matrix, weights: Matrix, accuracy: float) -> float:
    """What to divide scores by so that the mean confidence is the accuracy."""

    def confidence(log_temperature: float) -> float:
        cooled = scores / np.exp(log_temperature)
        chances = np.exp(cooled - cooled.max(-1, keepdims=True))
        return float(weights @ (1.0 / chances.sum(-1)))

    low = -np.log(_HOTTEST)
    high = np.log(_HOTTEST)
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if confidence(middle) > accuracy else (low, middle)
    return float(np.exp((low + high) / 2.0))


def expected_angle_loss(known: Posterior, d: int) -> float:
    """The expected projection loss of the first d directions, in the coordinates of the map."""
    rng = np.random.default_rng(_SEED)
    H, q = known.centres.shape
    sd = np.sqrt(known.variances)[:, None]
    drawn = known.centres + sd * rng.standard_normal((_TRUTHS, H, q))
    here = _leading(known, known.centres, d)
    there = _leading(known, drawn, d)
    shared = ((here.T @ there) ** 2).sum((-2, -1))
    return float(np.sqrt(np.maximum(2.0 * (d - shared), 0.0)).mean())


def _leading(known: Posterior, centres: Matrix, d: int) -> Matrix:
    """An orthonormal basis of the first d directions; leading axes are replications."""
    values, vectors = np.linalg.eigh(known.within)
    whitening = (vectors / np.sqrt(values)) @ vectors.T
    means = centres - (known.shares @ centres)[..., None, :]
    weighted = whitening @ means.swapaxes(-1, -2) * np.sqrt(known.shares)
    U = np.linalg.svd(weighted, full_matrices=False)[0][..., :d]
    return np.asarray(np.linalg.qr(whitening @ U)[0])
