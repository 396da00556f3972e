"""What a device has learned so far for one stage: running moments, or quantised rows where two stages need them.

With screening on the `same` records the features of the second report are not known while the first one is learned,
and a second moment of all features would be too large. So the device keeps its truncated rows, 16 bits a value, in its
state file until both reports are made. Both kinds hold exactly what the moments of the stage need, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from edge_agent.errors import StateError
from edge_agent.state.state import Kept
from fsir.errors import RecordError
from fsir.privacy.moments import Moments
from fsir.privacy.plan import Stage
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task

Rows = NDArray[np.float64]
BLOCK = 64  # rows that are quantised together


def names_of(task: Task, stage: Stage) -> tuple[str, ...]:
    """The features that a stage is about."""
    return tuple(task.features.names[j] for j in stage.features)


class MomentsLearner:
    """Learns the moments of a stage whose features are known."""

    def __init__(self, task: Task, stage: Stage, learned: bytes | None = None) -> None:
        self.moments, self.names = Moments(task, stage), names_of(task, stage)
        self._columns = list(stage.features) if stage.p < task.p else None
        if learned is not None:
            self.moments.restore(msgpack.unpackb(learned))

    @property
    def n(self) -> int:
        """Records learned."""
        return self.moments.n

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that were not accepted, by reason."""
        return self.moments.refused

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Learn one record, or refuse and count it."""
        self.moments.learn_one(x, y)

    def refuse(self, reason: str) -> None:
        """Count a record that was not even tried."""
        self.moments.refused[reason] = self.moments.refused.get(reason, 0) + 1

    def learn_many(self, X: Rows, y: Sequence[Any] | NDArray[Any]) -> None:
        """Learn rows over all features of the task."""
        self.moments.learn_many(X if self._columns is None else X[:, self._columns], y)

    def learned(self) -> bytes:
        """Everything learned, for the state file."""
        raw: bytes = msgpack.packb(self.moments.state())
        return raw

    def take_kept(self) -> tuple[Kept, ...]:
        """Rows for the state file: none, moments hold it all."""
        return ()


class RowsLearner:
    """Keeps the quantised rows of all features; `stored` of them are in the state file already."""

    def __init__(
        self, task: Task, stage: Stage, stored: int = 0, learned: bytes | None = None
    ) -> None:
        self._reader, self.names = Moments(task, stage), names_of(task, stage)
        self._slicing = task.slicing
        self._stored = stored
        self._waiting: list[tuple[Rows, int]] = []
        self._blocks: list[Kept] = []
        if learned is not None:
            self._reader.refused = dict(msgpack.unpackb(learned)["refused"])

    @property
    def n(self) -> int:
        """Records kept."""
        return self._stored + len(self._waiting) + sum(len(K) for K, _ in self._blocks)

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that were not accepted, by reason."""
        return self._reader.refused

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Keep one record, or refuse and count it."""
        try:
            self._waiting.append(self._reader.read(x, y))
        except RecordError as error:
            self.refuse(error.reason)
        if len(self._waiting) >= BLOCK:
            self._quantise()

    def learn_many(self, X: Rows, y: Sequence[Any] | NDArray[Any]) -> None:
        """Keep rows over all features of the task."""
        slices = self._slicing.slices_of(y)
        if X.ndim != 2 or X.shape[1] != self._reader.stage.p or slices.shape != (len(X),):
            raise RecordError(
                "wrong shape",
                f"X has shape {X.shape} and y {len(slices)} responses: they do not fit",
            )
        finite = np.isfinite(X).all(axis=1)
        good = finite & (slices != UNKNOWN)
        self.refuse("unknown response", int((slices == UNKNOWN).sum()))
        self.refuse("not finite", int((~finite & (slices != UNKNOWN)).sum()))
        self._quantise()
        if good.any():
            self._blocks.append(
                (self._reader.quantiser.truncated(X[good]).astype(np.int16), slices[good])
            )

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count records that were not accepted."""
        if count:
            self._reader.refused[reason] = self._reader.refused.get(reason, 0) + count

    def _quantise(self) -> None:
        if self._waiting:
            K = self._reader.quantiser.truncated(np.array([row for row, _ in self._waiting]))
            self._blocks.append(
                (K.astype(np.int16), np.array([h for _, h in self._waiting], np.int64))
            )
            self._waiting = []

    def learned(self) -> bytes:
        """What the rows do not tell, for the state file."""
        raw: bytes = msgpack.packb({"refused": dict(self._reader.refused)})
        return raw

    def take_kept(self) -> tuple[Kept, ...]:
        """Rows that are not in the state file yet; call `stored` once they are."""
        self._quantise()
        return tuple(self._blocks)

    def stored(self, count: int) -> None:
        """The state file has so many rows: blocks go there whole and in order."""
        while self._blocks and self._stored < count:
            self._stored += len(self._blocks.pop(0)[0])
        if self._stored != count:
            raise StateError(
                f"the state file has {count} kept records, and {self._stored} were put there"
            )


def moments_of(task: Task, stage: Stage, kept: Iterable[Kept]) -> Moments:
    """The moments of a stage from kept rows; the grid is the same for all stages of a task."""
    moments = Moments(task, stage)
    columns = list(stage.features)
    for K, slices in kept:
        moments.add_quantised(K[:, columns].astype(np.float64), slices)
    return moments
