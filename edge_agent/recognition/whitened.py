"""Records in the coordinates in which the federation says where classes lie.

A record is standardised, truncated and mapped as the task says, then whitened by the matrix that
comes with the classifier: within each class its covariance is then 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from edge_agent.recognition.personal import FLOAT, Prior
from fsir.arrays import Matrix
from fsir.task.task import Task
from fsir.wire.messages import Classifier, Subspace

FARTHEST = 1e6  # spreads; a matrix that makes more of a record is not worth believing
LEAST_SHARE = 0.01  # of a class, however rare it is elsewhere


class Whitener:
    """Turns records into the coordinates of a prior: those of the public map, whitened."""

    def __init__(
        self, task: Task, features: tuple[str, ...], whitening: Matrix, prior: Prior
    ) -> None:
        if task.public is None:
            raise ValueError(f"{task.name}: it has no public map to whiten; ask `whitens` first")
        chosen = list(task.features.indices(features))
        self._names = features
        self._centre = np.array(task.features.centre)[chosen]
        self._scale = np.array(task.features.scale)[chosen]
        self._truncate = task.clip.truncate
        self._matrix = task.public.matrix(task.p)[chosen] @ whitening
        self.whitening = whitening
        self.prior = prior

    @classmethod
    def of(cls, task: Task, subspace: Subspace) -> Self:
        """The one of a subspace that says where classes lie."""
        classifier = subspace.classifier
        if classifier is None or classifier.whitening is None:
            raise ValueError(f"{task.name}: its subspace whitens nothing; ask `whitens` first")
        return cls(task, subspace.features, classifier.whitening, prior_of(classifier))

    def coordinates(self, x: Mapping[str, Any]) -> bytes:
        """Those of a record that has all features, as `Personal` takes them."""
        row = np.array([x[name] for name in self._names], dtype=np.float64)
        standard = np.clip((row - self._centre) / self._scale, -self._truncate, self._truncate)
        v = np.nan_to_num(standard @ self._matrix)
        raw: bytes = np.clip(v, -FARTHEST, FARTHEST).astype(FLOAT).tobytes()
        return raw


def rewhitening(old: Matrix, new: Matrix) -> Matrix | None:
    """What turns rows whitened by one matrix into rows whitened by another.

    None where one of them is not worth believing: then what was learned in the old ones is lost.
    """
    if old.shape != new.shape:
        return None
    try:
        R = np.asarray(np.linalg.solve(old, new), np.float64)
    except np.linalg.LinAlgError:
        return None
    return R if np.abs(R).max() <= FARTHEST else None


def whitens(task: Task, subspace: Subspace) -> bool:
    """Whether a subspace says where classes lie in whitened coordinates of the task's map."""
    classifier = subspace.classifier
    if task.public is None or classifier is None or classifier.whitening is None:
        return False
    fits = len(classifier.whitening) == task.public.coordinates
    return fits and classifier.classes == task.response.classes


def identity_of(subspace: Subspace) -> str:
    """What changes when the numbers of a record mean something else."""
    about = f"{subspace.version}\0{subspace.features}\0".encode() + subspace.basis.tobytes()
    classifier = subspace.classifier
    if classifier is not None and classifier.whitening is not None:
        about += classifier.whitening.tobytes()
        about += b"" if classifier.centres is None else classifier.centres.tobytes()
    return hashlib.sha256(about).hexdigest()[:16]


def prior_of(classifier: Classifier) -> Prior:
    """What the federation says about its classes."""
    if classifier.centres is None:
        raise ValueError("the classifier has no centres; ask `whitens` first")
    # The bias of a linear discriminant is the logarithm of the share less half the squared length
    # of the centre.
    heights = classifier.bias + 0.5 * (classifier.weights * classifier.centroids).sum(axis=1)
    shares = np.exp(heights - heights.max())
    shares = np.maximum(shares / shares.sum(), LEAST_SHARE)
    return Prior(
        classes=classifier.classes,
        centres=classifier.centres,
        shares=shares / shares.sum(),
    )
