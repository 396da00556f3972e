"""The records of a trial, as they came."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from edge_agent.records import Record
from edge_agent.watch.refusals import UNKNOWN_RESPONSE, Refusal, number_of, refusal
from fsir.arrays import Integers, Matrix
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task


@dataclass
class Refused:
    """Records that were refused for the same reason in the same column."""

    refusal: Refusal
    example: Record  # the first one
    count: int = 0


@dataclass
class Seen:
    """What came, record by record."""

    task: Task
    header: Sequence[str] = ()  # of a table
    records: int = 0
    usable: int = 0
    columns: dict[str, None] = field(default_factory=dict)  # in their order
    refused: dict[tuple[str, str], Refused] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)  # labels that the task does not know
    _rows: list[list[float]] = field(default_factory=list)
    _slices: list[int] = field(default_factory=list)

    def take(self, record: Record) -> None:
        """One more record."""
        self.records += 1
        self.columns.update(dict.fromkeys(record.x))
        why = refusal(self.task, self.task.features.names, record)
        if why is None:
            self.usable += 1
        else:
            self._refuse(why, record)
        numbers = [number_of(record.x.get(name)) for name in self.task.features.names]
        row = [math.nan if number is None else number for number in numbers]
        if all(
            map(math.isfinite, row)
        ):  # without a known label it still shows what values are like
            self._rows.append(row)
            self._slices.append(self.task.slicing.slice_of(self._response(record)))

    def _response(self, record: Record) -> object:
        return record.x.get(self.task.response.name) if record.y is None else record.y

    def _refuse(self, why: Refusal, record: Record) -> None:
        entry = self.refused.setdefault((why.reason, why.column), Refused(why, record))
        entry.count += 1
        label = self._response(record)
        if why.reason == UNKNOWN_RESPONSE and isinstance(label, str) and label.strip():
            self.unknown[label] += 1

    @property
    def rows(self) -> Matrix:
        """The records whose features are all finite numbers."""
        return np.array(self._rows, np.float64).reshape(len(self._rows), self.task.p)

    @property
    def slices(self) -> Integers:
        """Their slices."""
        return np.array(self._slices, np.int64)

    @property
    def labelled(self) -> tuple[Matrix, Integers]:
        """The records that can be used, and their slices."""
        known = self.slices != UNKNOWN
        return self.rows[known], self.slices[known]

    @property
    def missing(self) -> list[str]:
        """Columns that the task needs, and that no record has."""
        needed = list(self.task.features.names)
        if (UNKNOWN_RESPONSE, self.task.response.name) in self.refused:  # and nobody presses it
            needed.append(self.task.response.name)
        return [name for name in needed if name not in self.columns] if self.columns else []
