"""From one record as it comes, a mapping of names to values, to a row and its slice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fsir.arrays import Matrix
from fsir.errors import RecordError, shown
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task


class RecordReader:
    """Reads records, of which these features count; a bad one is a `RecordError`."""

    def __init__(self, task: Task, features: tuple[int, ...]) -> None:
        self._slicing = task.slicing
        self._names = tuple(task.features.names[j] for j in features)
        self._known = frozenset(task.features.names)

    def read(self, x: Mapping[str, Any], y: Any) -> tuple[Matrix, int]:
        """The row and slice of a record."""
        h = self._slicing.slice_of(y)
        if h == UNKNOWN:
            detail = f"response {shown(y)}: not a class or number that the task knows"
            raise RecordError("unknown response", detail)
        row = self._row(x)
        if row.ndim != 1:  # some value is no number, or all are lists
            raise RecordError("not a number", f"record {shown(x)}: every feature must be a number")
        if len(x) > len(self._names) and not self._known.issuperset(x):
            unknown = sorted(set(x) - self._known, key=str)[:3]
            raise RecordError("unknown feature", f"features {shown(unknown)} are not in the task")
        if not np.isfinite(row).all():
            raise RecordError("not finite", "a feature is NaN or infinite")
        return row, h

    def _row(self, x: Mapping[str, Any]) -> Matrix:
        """The values of the features that count; not of one dimension if they are no numbers."""
        try:
            return np.array([x[name] for name in self._names], dtype=np.float64)
        except KeyError as missing:
            detail = f"feature {missing} is missing from the record"
            raise RecordError("missing feature", detail) from None
        except (TypeError, ValueError, OverflowError):
            return np.empty(())
