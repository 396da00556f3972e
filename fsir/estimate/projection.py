"""What a device does with the published subspace: coordinates of its own records, and their class."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsir.errors import MessageError, RecordError
from fsir.privacy.plan import final_stage
from fsir.privacy.quantiser import Quantiser
from fsir.task.task import Task
from fsir.wire.messages import Subspace

Matrix = NDArray[np.float64]


class Projector:
    """Projects raw records on the directions of a subspace, and classifies them if it carries a classifier."""

    def __init__(self, task: Task, subspace: Subspace) -> None:
        if subspace.task != task.digest:
            raise MessageError(
                f"subspace: it belongs to another task than {task.name!r}; use the task it came from"
            )
        index = {name: j for j, name in enumerate(task.features.names)}
        unknown = [name for name in subspace.features if name not in index]
        if unknown:
            raise MessageError(
                f"subspace: features {unknown[:3]} are not in the task {task.name!r}"
            )
        chosen = tuple(index[name] for name in subspace.features)
        stage = final_stage(task, chosen)
        self._centre = np.array(task.features.centre)[list(chosen)]
        self._scale = np.array(task.features.scale)[list(chosen)]
        self._grid = stage.grid
        self._quantiser = Quantiser(task, stage)
        self._subspace = subspace

    def project(self, X: ArrayLike) -> Matrix:
        """Coordinates of rows over `subspace.features`, in raw units."""
        return np.asarray(((self._rows(X) - self._centre) / self._scale) @ self._subspace.basis)

    def classify(self, X: ArrayLike) -> tuple[list[str], Matrix]:
        """The most probable class of each row, and how probable it is."""
        found = self._subspace.classifier
        if found is None:
            raise RecordError(
                "no classifier",
                "the subspace of a numeric response carries no classifier; use project",
            )
        # The classifier was learned from clipped records: a new one is clipped as well, or it would look extreme.
        clipped = self._quantiser.clipped(self._quantiser.truncated(self._rows(X))) * self._grid
        scores = clipped @ self._subspace.basis @ found.weights.T + found.bias
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        best = chances.argmax(axis=1)
        return [found.classes[h] for h in best], np.asarray(chances[np.arange(len(best)), best])

    def _rows(self, X: ArrayLike) -> Matrix:
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self._centre):
            raise RecordError(
                "wrong shape",
                f"X has shape {rows.shape}; it must be (records, {len(self._centre)})",
            )
        if not np.isfinite(rows).all():
            raise RecordError("not finite", "X holds NaN or infinity; leave such records out")
        return rows
