"""The linear classifier that the merged private moments give at no further cost."""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Merged, within
from fsir.wire.messages import Classifier


def classifier(classes: tuple[str, ...], m: Merged, basis: Matrix) -> Classifier:
    """Linear discriminant analysis in the subspace.

    From class centroids, the pooled covariance within classes, and the shares of the classes.
    """
    shares = m.weights
    centroids = ((basis.T @ m.mean)[:, None] + basis.T @ m.M / shares).T
    pooled = basis.T @ within(m) @ basis
    weights = np.asarray(np.linalg.solve(pooled, centroids.T).T, dtype=np.float64)
    bias = np.log(shares) - 0.5 * (weights * centroids).sum(1)
    return Classifier(classes, weights, bias, centroids)
