"""The linear classifier that the merged private moments give at no further cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.estimate.covariance import Levels, Merged, within
from fsir.estimate.prediction import Prediction, Rule, Strangers, predicted
from fsir.wire.messages import Classifier

_HIDDEN_SIGMAS = 2.0  # a count that is smaller than so many standard deviations may be all noise


def pooled_within(m: Merged, basis: Matrix) -> Matrix:
    """The pooled covariance within classes, of coordinates in the subspace."""
    return np.asarray(basis.T @ within(m) @ basis)


def classifier(classes: tuple[str, ...], m: Merged, basis: Matrix, pooled: Matrix) -> Classifier:
    """Linear discriminant analysis in the subspace.

    From class centroids, the pooled covariance within classes, and the shares of the classes.
    """
    shares = m.weights
    centroids = ((basis.T @ m.mean)[:, None] + basis.T @ m.M / shares).T
    weights = np.asarray(np.linalg.solve(pooled, centroids.T).T, dtype=np.float64)
    bias = np.log(shares) - 0.5 * (weights * centroids).sum(1)
    return Classifier(classes, weights, bias, centroids)


def hidden(counts: Matrix, levels: Levels, N: int) -> Flags:
    """Slices whose count, a share of all records, noise alone could have made."""
    return np.asarray((counts < _HIDDEN_SIGMAS * levels.counts**0.5) | (counts * N < 0.5))


def with_expectation(
    made: Classifier, m: Merged, basis: Matrix, pooled: Matrix
) -> tuple[Classifier, Prediction]:
    """The classifier, how often it is right, and what it must not be relied on for."""
    prediction = expected_of(made, m, basis, pooled)
    unseen = np.flatnonzero(hidden(m.shares, m.levels, m.N))
    careful = replace(
        made,
        # Without noise scores are log odds as they come.
        temperature=prediction.temperature if m.levels.sums > 0.0 else 1.0,
        doubtful=tuple(made.classes[h] for h in unseen),
        guess=float(m.weights.max()),
    )
    return careful, prediction


def expected_of(
    made: Classifier, m: Merged, basis: Matrix, pooled: Matrix, times: int = 1
) -> Prediction:
    """What to expect of a classifier whose centroids were known from so many times the reports.

    Nobody has reported how far strangers are from those who took part: it is as if they were alike.
    """
    shares = m.weights
    # Of a centroid, from the noise of the sums and from sampling, the mean over all directions.
    mechanism = m.levels.sums * float(np.trace(basis.T @ basis)) / len(pooled)
    sampling = float(np.trace(pooled)) / len(pooled) / m.N
    strangers = Strangers(
        centres=made.centroids,
        variances=(mechanism / shares**2 + sampling / shares) / times,
        shapes=(pooled,),
        shares=shares,
    )
    return predicted(Rule(made.weights, made.bias), strangers)


def doubts(made: Classifier, accuracy: float) -> list[str]:
    """What whoever uses a classifier should know."""
    notes = []
    if made.doubtful:
        names = ", ".join(made.doubtful[:8])
        notes.append(f"hardly any record of these classes was reported, or none: {names}")
    if accuracy <= made.guess:
        notes.append(
            "the classifier is expected to be right no more often than who always names the "
            "commonest class"
        )
    return notes
