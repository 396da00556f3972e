"""The estimate as a picture shows it: loadings with bars, class centres with an ellipse."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.fitted.uncertainty import loading_sd, sine, unit_length
from fsir.task.task import Task
from fsir.wire.messages import Classifier, Subspace

HEAVIEST = 40  # features, in all directions together, that are shown in any case ...
LARGEST = 12  # ... and those with so many of the largest loadings of each direction
BAR_MEANS = (
    "one standard deviation of a loading, if the expected error is as likely to be in any "
    "direction as in any other"
)
# Under a public map the expected error is counted in units of the scatter within classes.
NO_BARS = "under a public map it is not known how sure single loadings are: directions are off by "
_INSIDE = {1: "68%", 2: "39%"}  # of a normal law in one dimension and in two


def directions(task: Task, subspace: Subspace) -> dict[str, Any]:
    """The loadings of every direction, of length 1, and how far off each may be.

    Features with small loadings are left out where there are many.
    """
    loadings = unit_length(subspace.basis)
    heaviest = np.argsort(-(loadings**2).sum(1), kind="stable")[:HEAVIEST]
    # Of many directions one may have large loadings where the others have none.
    largest = np.argsort(-np.abs(loadings), axis=0, kind="stable")[:LARGEST]
    chosen = np.union1d(heaviest, largest)
    return {
        "features": [subspace.features[j] for j in chosen],
        "loadings": loadings[chosen].T.tolist(),
        **_sure(task, subspace, chosen),
        "left_out": len(subspace.features) - len(chosen),
    }


def _sure(task: Task, subspace: Subspace, chosen: Integers) -> dict[str, Any]:
    if task.public is None:
        bars = loading_sd(subspace.basis, subspace.expected_error)[chosen]
        return {"bars": bars.tolist(), "bar_means": BAR_MEANS}
    angle = np.degrees(np.arcsin(sine(subspace.expected_error, subspace.dimension)))
    return {"bars": None, "bar_means": f"{NO_BARS}about {angle:.0f} degrees of 90"}


def classes(classifier: Classifier | None) -> dict[str, Any] | None:
    """Where classes lie in the first two directions, and how widely their records scatter."""
    if classifier is None:
        return None
    centres = classifier.centroids[:, :2]
    inside = _INSIDE[centres.shape[1]]
    return {
        "names": list(classifier.classes),
        "shares": _shares(classifier).tolist(),
        "centres": centres.tolist(),
        "spread": _ellipse(classifier),
        "spread_means": f"one standard deviation of the records of any class: {inside} lie inside",
        "doubtful": list(classifier.doubtful),
    }


def _shares(classifier: Classifier) -> Matrix:
    """The bias of a class is the logarithm of its share, less half its score at its own centre."""
    log_shares = classifier.bias + 0.5 * (classifier.weights * classifier.centroids).sum(1)
    shares = np.exp(log_shares - log_shares.max())
    return np.asarray(shares / shares.sum())


def _ellipse(classifier: Classifier) -> dict[str, Any] | None:
    """Half axes and angle, from the covariance within classes that the weights were made with.

    `weights = centroids covariance^-1`; None if so few classes do not determine it.
    """
    d = classifier.weights.shape[1]
    covariance, _, rank, _ = np.linalg.lstsq(classifier.weights, classifier.centroids, rcond=None)
    if rank < d:
        return None
    values, vectors = np.linalg.eigh((covariance + covariance.T)[:2, :2] / 2.0)
    axes = np.sqrt(np.maximum(values[::-1], 0.0))
    along = vectors[:, -1]
    angle = float(np.degrees(np.arctan2(along[-1], along[0]))) % 180.0 if d > 1 else 0.0
    return {"axes": axes.tolist(), "angle_degrees": angle}
