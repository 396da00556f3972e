"""Records that a device keeps until its second report, as quantised rows.

With screening on the `same` records the features of the second report are not known while the first
one is learned, and a second moment of all features would be too large. So the device keeps its
truncated rows, 16 bits a value, in its state file until both reports are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np

from edge_agent.errors import StateError
from edge_agent.learning.learner import names_of, restore_watch
from edge_agent.state.learned import Kept
from edge_agent.watch.counts import Counts
from edge_agent.watch.faults import counts_of
from fsir.arrays import Integers, Matrix
from fsir.errors import RecordError
from fsir.privacy.moments import Moments
from fsir.privacy.plan import Stage
from fsir.privacy.quantiser import Quantiser
from fsir.task.records import RecordReader
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_ROWS = 64  # that are quantised together


class RowsLearner:
    """Keeps the quantised rows of all features; `stored` of them are in the state file already."""

    keeps_rows = True

    def __init__(
        self, task: Task, stage: Stage, stored: int = 0, learned: bytes | None = None
    ) -> None:
        self.names = names_of(task, stage)
        self.refused: dict[str, int] = {}  # records that were not accepted, by reason
        self.stage = stage
        self._watch = counts_of(task, stage)
        self._task = task
        self._reader = RecordReader(task, stage.features)
        self._quantiser = Quantiser(task, stage)
        self._null = np.zeros(len(stage.features))
        self._slicing = task.slicing
        self._stored = stored
        self._waiting: list[tuple[Matrix, int]] = []
        self._blocks: list[Kept] = []
        if learned is not None:
            state = msgpack.unpackb(learned)
            self.refused = dict(state["refused"])
            restore_watch(self._watch, state)

    @property
    def n(self) -> int:
        """Records kept, null ones included."""
        return self._stored + len(self._waiting) + sum(len(K) for K, _ in self._blocks)

    def learn_one(self, x: Mapping[str, Any], y: Any) -> bool:
        """Keep one record, or refuse and count it; true if it was kept."""
        try:
            row = self._reader.read(self._reader.chosen(x), y)
        except RecordError as error:
            self.refuse(error.reason)
            return False
        self._keep(*row)
        return True

    def learn_sound(self, xs: Sequence[Mapping[str, Any]], ys: Sequence[Any]) -> bool:
        """Not together: rows are kept one by one."""
        return False

    def refuse(self, reason: str) -> None:
        """Count a record that is not accepted; where offered records count, it is kept as null."""
        self._count(reason, 1)
        if self.stage.offered:
            self._keep(self._null, UNKNOWN)

    def _keep(self, row: Matrix, h: int) -> None:
        self._waiting.append((row, h))
        if len(self._waiting) >= BLOCK_ROWS:
            self._quantise()

    def learn_many(self, X: Matrix, y: Sequence[Any] | NDArray[Any]) -> None:
        """Keep rows over all features of the task."""
        slices = self._slicing.slices_of(y)
        if X.ndim != 2 or X.shape[1] != len(self._null) or slices.shape != (len(X),):
            raise RecordError(
                "wrong shape",
                f"X has shape {X.shape} and y {len(slices)} responses: they do not fit",
            )
        known = slices != UNKNOWN
        finite = np.isfinite(X).all(axis=1)
        good = finite & known
        self._count("unknown response", int((~known).sum()))
        self._count("not finite", int((~finite & known).sum()))
        self._quantise()
        if self.stage.offered:
            X = np.where(good[:, None], X, 0.0)
            slices = np.where(good, slices, UNKNOWN)
        else:
            X = X[good]
            slices = slices[good]
        self._put(X, slices)

    def _count(self, reason: str, count: int) -> None:
        if count:
            self.refused[reason] = self.refused.get(reason, 0) + count

    def _quantise(self) -> None:
        rows = np.array([row for row, _ in self._waiting])
        slices = np.array([h for _, h in self._waiting], np.int64)
        self._waiting = []
        self._put(rows, slices)

    def _put(self, rows: Matrix, slices: Integers) -> None:
        """One more block; what there is instead of a null record is zero."""
        if len(rows):
            known = slices != UNKNOWN
            self._watch.add(rows[known], slices[known])
            K = self._quantiser.truncated(rows)
            K[~known] = 0.0
            self._blocks.append((K.astype(np.int16), slices))

    def watched(self) -> Counts:
        """What all records that were accepted look like."""
        self._quantise()
        return self._watch

    def learned(self) -> bytes:
        """What the rows do not tell, for the state file."""
        raw: bytes = msgpack.packb({"refused": self.refused, "watch": self.watched().state()})
        return raw

    def take_kept(self) -> tuple[Kept, ...]:
        """Rows that are not in the state file yet; call `note_stored` once they are."""
        self._quantise()
        return tuple(self._blocks)

    def note_stored(self, count: Callable[[], int]) -> None:
        """The state file has so many rows: blocks go there whole and in order."""
        rows = count()
        while self._blocks and self._stored < rows:
            block, _ = self._blocks.pop(0)
            self._stored += len(block)
        if self._stored != rows:
            raise StateError(
                f"the state file has {rows} kept records, and {self._stored} were put there"
            )

    def moments(self, kept: Iterable[Kept]) -> Moments:
        """The moments of what is in the state file."""
        return moments_of(self._task, self.stage, kept)


def moments_of(task: Task, stage: Stage, kept: Iterable[Kept]) -> Moments:
    """The moments of a stage from kept rows; the grid is the same for all stages of a task."""
    moments = Moments(task, stage)
    columns = list(stage.features)
    for K, slices in kept:
        moments.add_quantised(K[:, columns].astype(np.float64), slices)
    return moments
