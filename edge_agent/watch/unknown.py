"""Labels that the task does not know: `Walking` for `walking` is a mistake to be mended."""

from __future__ import annotations

import logging
from typing import Any

from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task

log = logging.getLogger("fsir.agent")


class UnknownLabels:
    """Says so once, and without the label, which is part of a record."""

    def __init__(self, task: Task) -> None:
        self._name = task.name
        self._slicing = task.slicing
        self._told = False

    def look_at(self, y: Any) -> None:
        """The response of a record that was not learned."""
        if self._told or y in (None, "") or self._slicing.slice_of(y) != UNKNOWN:
            return
        self._told = True
        known = ", ".join(self._slicing.labels)
        log.warning(
            "%s: a label that the task does not know: not learned; known are %s", self._name, known
        )
