"""The message that devices use in the end: a subspace, and a classifier on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fsir.arrays import Matrix

OPTIONAL_ARRAYS = ("basis", "whitening", "centres")  # of a classifier


@dataclass(frozen=True, eq=False)
class Classifier:
    """Linear scores `weights @ z + bias` of a projected record `z`, one per class.

    The largest one wins. `z` are the coordinates of the subspace, or, where the classifier needs
    more directions than the subspace shows, those of its own `basis`.
    """

    classes: tuple[str, ...]
    weights: Matrix
    bias: Matrix
    centroids: Matrix  # classes x dimension
    basis: Matrix | None = None  # features x dimension
    temperature: float = 1.0  # scores over this are log odds whose confidence is the right one
    doubtful: tuple[str, ...] = ()  # classes that hardly anybody reported, as far as noise shows
    guess: float = 0.0  # how often one is right who always names the commonest class
    # For who goes on learning with a public map: `whitening^T P^T x` has unit covariance within
    # classes, around these centres.
    whitening: Matrix | None = None  # coordinates x coordinates
    centres: Matrix | None = None  # classes x coordinates


@dataclass(frozen=True, eq=False, kw_only=True)
class Subspace:
    """The estimate that devices use: a standardised record `x` becomes `basis^T x`.

    `Projector` does it. As a message it has no task, whose centres and scales it needs.

    Attributes
    ----------
    features : tuple of str
        The features that the directions combine.
    basis : array, features x dimension
        The directions, for records standardised by the centre and scale of the task.
    singular_values : array
        Of the whitened slice means; those above `noise_level` stand out of the noise.
    expected_error : float
        The expected `projection_loss` of the basis against the truth.
    classifier : Classifier or None
        Where the response is a class.
    expected_accuracy : float or None
        How often the classifier is expected to be right about people who took no part.
    notes : tuple of str
        What whoever uses the estimate should know about it.
    moved : float or None
        Where a task has several rounds: the `projection_loss` to the version before, in units of
        the expected error.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> fsir.SubspaceMessage(
    ...     task=bytes(32),
    ...     version=1,
    ...     features=("a", "b"),
    ...     basis=np.array([[1.0], [0.0]]),
    ...     singular_values=np.array([0.8, 0.1]),
    ...     noise_level=0.2,
    ...     expected_error=0.3,
    ...     devices=12,
    ...     records=1200,
    ... ).dimension
    1
    """

    task: bytes
    version: int
    features: tuple[str, ...]
    basis: Matrix  # features x dimension
    singular_values: Matrix
    noise_level: float
    expected_error: float
    devices: int
    records: int
    refused: int = 0
    classifier: Classifier | None = None
    notes: tuple[str, ...] = ()
    expected_accuracy: float | None = None
    moved: float | None = None

    @property
    def dimension(self) -> int:
        """Number of directions."""
        return int(self.basis.shape[1])


def subspace_body(subspace: Subspace) -> dict[str, Any]:
    """What `fsir.wire.messages.encode` packs."""
    body = {
        "task": subspace.task,
        "version": subspace.version,
        "features": list(subspace.features),
        "basis": _packed(subspace.basis),
        "singular_values": _packed(subspace.singular_values),
        "noise_level": subspace.noise_level,
        "expected_error": subspace.expected_error,
        "devices": subspace.devices,
        "records": subspace.records,
        "refused": subspace.refused,
        "notes": list(subspace.notes),
    }
    if subspace.classifier is not None:
        body["classifier"] = _classifier(subspace.classifier)
    if subspace.expected_accuracy is not None:
        body["expected_accuracy"] = subspace.expected_accuracy
    if subspace.moved is not None:
        body["moved"] = subspace.moved
    return body


def _classifier(classifier: Classifier) -> dict[str, Any]:
    body: dict[str, Any] = {
        "classes": list(classifier.classes),
        "weights": _packed(classifier.weights),
        "bias": _packed(classifier.bias),
        "centroids": _packed(classifier.centroids),
    }
    # What version 0.1 did not know is left out where there is nothing to say.
    if classifier.temperature != 1.0:
        body["temperature"] = classifier.temperature
    if classifier.doubtful:
        body["doubtful"] = list(classifier.doubtful)
    if classifier.guess > 0.0:
        body["guess"] = classifier.guess
    for name in OPTIONAL_ARRAYS:
        if (array := getattr(classifier, name)) is not None:
            body[name] = _packed(array)
    return body


def _packed(array: Matrix) -> list[Any]:
    return [list(array.shape), np.ascontiguousarray(array, dtype="<f8").tobytes()]
