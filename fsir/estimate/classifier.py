"""The linear classifier that the merged private moments give at no further cost."""

from __future__ import annotations

import numpy as np

from fsir.estimate.covariance import Matrix, Merged, within
from fsir.wire.messages import Classifier


def classifier(classes: tuple[str, ...], m: Merged, basis: Matrix) -> Classifier:
    """Linear discriminant analysis in the subspace: class centroids, pooled covariance within classes, shares."""
    shares = m.weights
    centroids = ((basis.T @ m.mean)[:, None] + basis.T @ m.M / shares).T
    weights = np.asarray(
        np.linalg.solve(basis.T @ within(m) @ basis, centroids.T).T, dtype=np.float64
    )
    bias = np.log(shares) - 0.5 * (weights * centroids).sum(1)
    return Classifier(classes, weights, bias, centroids)
