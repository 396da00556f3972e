"""What the owner gets back: each record in a few numbers, and its class where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fsir.estimate.projection import Projector
from fsir.task.task import Task
from fsir.wire.messages import Subspace


class Projection:
    """Uses one subspace on the records of this device."""

    def __init__(self, task: Task, subspace: Subspace) -> None:
        self._task = task.name
        self.subspace = subspace
        self._projector = Projector(task, subspace)

    def serve(self, x: Mapping[str, Any]) -> dict[str, Any] | None:
        """Coordinates and class of a record; in place of a class that is in doubt, the reason.

        None if it lacks a feature or holds something else than numbers.
        """
        try:
            row = np.array([[x[name] for name in self.subspace.features]], dtype=np.float64)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        if not np.isfinite(row).all():
            return None
        z = self._projector.project(row)[0]
        served: dict[str, Any] = {
            "task": self._task,
            "version": self.subspace.version,
            "z": z.tolist(),
        }
        if self.subspace.classifier is not None:
            classes, chances = self._projector.classify(row)
            doubt = self._projector.doubt(classes[0])
            if doubt is None:
                confidence = round(float(chances[0]), 6)
                served |= {"answer": classes[0], "class": classes[0], "confidence": confidence}
            else:
                served["doubt"] = doubt
        return served
