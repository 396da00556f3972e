"""What a device does with the published subspace: coordinates of its records, and their class.

A record gets the same bits alone and among others (`fsir.estimate.in_order`): who has the exported
subspace elsewhere finds what the device has found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from fsir.arrays import Matrix
from fsir.errors import MessageError, RecordError
from fsir.estimate.in_order import product, row_sums
from fsir.privacy.plan import final_stage
from fsir.privacy.quantiser import Quantiser
from fsir.task.task import Task
from fsir.wire.messages import Subspace


class Projector:
    """Projects raw records on the directions of a subspace, and classifies them if it can.

    Parameters
    ----------
    task
        The task that the subspace belongs to: it says how records are standardised and clipped.
    subspace
        The estimate.

    Raises
    ------
    MessageError
        If the two do not belong together.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> import numpy as np
    >>> subspace = fsir.SubspaceMessage(
    ...     task=task.digest,
    ...     version=1,
    ...     features=("b",),
    ...     basis=np.array([[2.0]]),
    ...     singular_values=np.array([0.8]),
    ...     noise_level=0.2,
    ...     expected_error=0.3,
    ...     devices=12,
    ...     records=1200,
    ... )
    >>> fsir.Projector(task, subspace).project([[0.5], [-1.0]])
    array([[ 1.],
           [-2.]])
    """

    def __init__(self, task: Task, subspace: Subspace) -> None:
        if subspace.task != task.digest:
            raise MessageError(
                f"subspace: it belongs to another task than {task.name!r}; "
                "use the task it came from"
            )
        if unknown := task.features.unknown(subspace.features):
            raise MessageError(
                f"subspace: features {unknown[:3]} are not in the task {task.name!r}"
            )
        chosen = task.features.indices(subspace.features)
        self._centre = np.array(task.features.centre)[list(chosen)]
        self._scale = np.array(task.features.scale)[list(chosen)]
        if task.public is None:
            self._bounded = _bounded_by_stage(task, chosen)
        else:
            self._bounded = _bounded_by_map(self._centre, self._scale, task.clip.truncate)
        self._subspace = subspace

    def project(self, X: ArrayLike) -> Matrix:
        """Coordinates of rows over `subspace.features`, in raw units."""
        return product((self._rows(X) - self._centre) / self._scale, self._subspace.basis)

    def chances(self, X: ArrayLike) -> Matrix:
        """How probable each class is, rows x classes, in the order of the classifier's classes."""
        classifier = self._subspace.classifier
        if classifier is None:
            detail = "the subspace of a numeric response carries no classifier; use project"
            raise RecordError("no classifier", detail)
        basis = self._subspace.basis if classifier.basis is None else classifier.basis
        rows = product(self._bounded(self._rows(X)), basis)
        scores = product(rows, classifier.weights.T) + classifier.bias
        scores /= classifier.temperature
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(chances / row_sums(chances))

    def classify(self, X: ArrayLike) -> tuple[list[str], Matrix]:
        """The most probable class of each row, and how probable it is."""
        chances = self.chances(X)
        classes = () if self._subspace.classifier is None else self._subspace.classifier.classes
        best = chances.argmax(axis=1)
        return [classes[h] for h in best], chances[np.arange(len(best)), best]

    def doubt(self, label: str) -> str | None:
        """Why nobody should rely on it where a record is taken for this class, or None."""
        classifier = self._subspace.classifier
        accuracy = self._subspace.expected_accuracy
        if classifier is None:
            return None
        if accuracy is not None and accuracy <= classifier.guess:
            return (
                f"the classifier is expected to be right no more often ({accuracy:.2f}) than who "
                f"always names the commonest class ({classifier.guess:.2f})"
            )
        if label in classifier.doubtful:
            return f"hardly any record of {label!r} was reported to the federation, or none"
        return None

    def _rows(self, X: ArrayLike) -> Matrix:
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self._centre):
            detail = f"X has shape {rows.shape}; it must be (records, {len(self._centre)})"
            raise RecordError("wrong shape", detail)
        if not np.isfinite(rows).all():
            raise RecordError("not finite", "X holds NaN or infinity; leave such records out")
        return rows


def _bounded_by_stage(task: Task, chosen: tuple[int, ...]) -> Callable[[Matrix], Matrix]:
    """Standardise and clip: the classifier was learned from clipped records.

    A new one that is not would look extreme.
    """
    stage = final_stage(task, chosen)
    quantiser = Quantiser(task, stage)
    return lambda rows: quantiser.clipped(quantiser.truncated(rows)) * stage.grid


def _bounded_by_map(centre: Matrix, scale: Matrix, R: float) -> Callable[[Matrix], Matrix]:
    """Standardise and truncate: how far a record lies from the centre of a class, nobody knows."""
    return lambda rows: np.clip((rows - centre) / scale, -R, R)
