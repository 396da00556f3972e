"""Exact clipped accumulators: slice sums, counts and second moments of a stream, in one pass.

A record is standardised with public constants, truncated to [-R, R], quantised toward zero on a
public grid and scaled down to norm C: none of the three ever raises a norm. (A task with a public
map has it in between, `fsir.task.exact_map`.) Sums of the resulting
integers are exact in float64 below 2^53, so that BLAS may add them in any order, and any split or
merge of a stream gives the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.errors import RecordError
from fsir.privacy.plan import Stage
from fsir.privacy.quantiser import quantiser_of
from fsir.privacy.rows.waiting import Waiting, sound
from fsir.privacy.sums import Sums
from fsir.task.records import RecordReader
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Look = Callable[[Matrix, Integers], object]


class Moments:
    """Running moments of one stage on one device, before any noise.

    Parameters
    ----------
    task
        The task.
    stage
        The report that the moments are for: `first_stage(task)`, or after screening `final_stage`.
    look
        Is shown every block of accepted rows and their slices as they came, before they are
        quantised. It changes nothing about what is learned.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 3},
    ... })
    >>> moments = fsir.Moments(task, fsir.first_stage(task))
    >>> moments.learn_one({"a": 1.0, "b": 0.5}, "yes")
    True
    >>> moments.learn_many([[1.0, 0.0], [0.0, float("nan")]], ["no", "yes"])
    >>> moments.n, moments.refused
    (3, {'not finite': 1})
    >>> moments.counts()
    array([1., 1.])
    """

    def __init__(self, task: Task, stage: Stage, look: Look | None = None) -> None:
        self.stage = stage
        self.quantiser = quantiser_of(task, stage)
        self._refused: dict[str, int] = {}
        self._task = task
        self._look = look
        self._slicing = task.slicing
        self._reader = RecordReader(task, stage.features)
        self._sums = Sums(stage, self.quantiser)
        self._waiting = Waiting(task.slicing, len(stage.features))

    @property
    def n(self) -> int:
        """Records that a report would be about: those offered, of which refused ones are null.

        Under a task of version 1, those learned.
        """
        if self._waiting.unseen and not self.stage.offered:
            self._look_at_unseen()
        return self._sums.n + self._waiting.count

    @property
    def refused(self) -> dict[str, int]:
        """Records that could not be learned from, by reason."""
        self._look_at_unseen()
        return self._refused

    @refused.setter
    def refused(self, counts: dict[str, int]) -> None:
        self._look_at_unseen()
        self._refused = counts

    # --- learning ---------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[str, Any], y: Any, others: bool = False) -> bool:
        """Learn one record, or refuse and count it; true if it was learned.

        Values that are no features of the task are refused, unless there may be `others`.
        """
        waiting = self._waiting
        if waiting.unseen:
            self._look_at_unseen()
        count = waiting.count
        try:
            h = self._reader.write(x, y, waiting.memory, count * waiting.row_bytes, others)
        except RecordError as error:
            self.refuse(error.reason)
            return False
        if self._sums.n + count >= self._sums.surely:
            self._check_room(1)
        waiting.slices[count] = h
        waiting.count = count + 1
        if waiting.count == waiting.size:
            self._flush()
        return True

    def learn_sound(self, xs: Sequence[Mapping[str, Any]], ys: Sequence[Any]) -> bool:
        """Learn records together if all of them are plainly sound; false, and nothing, otherwise.

        Bit for bit the same as `learn_one` on each, where there may be other values.
        """
        if self._sums.n + self._waiting.count + len(xs) >= self._sums.surely:
            return False
        read = self._reader.read_sound(xs, ys)
        if read is None:
            return False
        self._look_at_unseen()
        self._learn_rows(*read)
        return True

    def read(self, x: Mapping[str, Any], y: Any) -> tuple[Matrix, int]:
        """The row and slice of a record, or a `RecordError` that says what is wrong with it."""
        return self._reader.read(x, y)

    def learn_many(self, X: ArrayLike, y: Sequence[Any] | NDArray[Any]) -> None:
        """Learn rows whose columns are the stage's features.

        Bit for bit the same as `learn_one` on each.
        """
        rows = self._rows(X)
        waiting = self._waiting
        fits = self._sums.n + waiting.size < self._sums.surely
        if fits and isinstance(y, np.ndarray) and waiting.put_off(rows, y):
            if waiting.count == waiting.size:
                self._flush()
        else:
            self._look_at_unseen()
            self._learn_now(rows, self._slices(y, len(rows)))

    def _learn_now(self, offered: Matrix, slices: Integers) -> None:
        rows, slices, refused = sound(offered, slices)
        self._check_room(len(offered) if self.stage.offered else len(rows))
        for reason, count in refused:
            self.refuse(reason, count)
        self._learn_rows(rows, slices)

    def _rows(self, X: ArrayLike) -> Matrix:
        rows = np.asarray(X, dtype=np.float64)
        inputs = self._waiting.inputs
        if rows.ndim != 2 or rows.shape[1] != inputs:
            detail = f"X has shape {rows.shape}; it must be (records, {inputs})"
            raise RecordError("wrong shape", detail)
        return rows

    def _slices(self, y: Sequence[Any] | NDArray[Any], records: int) -> Integers:
        slices = self._slicing.slices_of(y)
        if slices.shape != (records,):
            detail = f"y holds {len(slices)} responses for {records} records"
            raise RecordError("wrong shape", detail)
        return slices

    def _learn_rows(self, rows: Matrix, slices: Integers) -> None:
        waiting = self._waiting
        start = 0
        while start < len(rows):
            # Large blocks need no copy.
            if not waiting.count and len(rows) - start >= waiting.size:
                block = slice(start, start + waiting.size)
                self._take(rows[block], slices[block])
            else:
                block = slice(start, start + waiting.size - waiting.count)
                waiting.put(rows[block], slices[block])
                if waiting.count == waiting.size:
                    self._flush()
            start = block.stop

    def add_quantised(self, K: Matrix, slices: Integers) -> None:
        """Add rows that `Quantiser.truncated` made earlier; those without a slice are null."""
        self._check_room(len(K))
        known = slices != UNKNOWN
        self._add(K[known].astype(np.float64), slices[known])
        self._sums.add_null(len(K) - int(known.sum()))

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count records that cannot be learned from; where offered records count, as null."""
        self._look_at_unseen()
        self._count_refused(reason, count)

    def _look_at_unseen(self) -> None:
        for reason, count in self._waiting.look():
            self._count_refused(reason, count)

    def _count_refused(self, reason: str, count: int) -> None:
        if not count:
            return
        if self.stage.offered:
            self._check_room(count)
            self._sums.add_null(count)
        self._refused[reason] = self._refused.get(reason, 0) + count

    def _check_room(self, more: int) -> None:
        self._sums.check_room(self.n, more)

    def _flush(self) -> None:
        self._look_at_unseen()
        if self._waiting.count:
            rows, slices = self._waiting.take()
            self._take(rows, slices, out=rows)

    def _take(self, rows: Matrix, slices: Integers, out: Matrix | None = None) -> None:
        if self._look is not None:
            self._look(rows, slices)
        self._add(self.quantiser.whole(rows, slices, out), slices)

    def _add(self, K: Matrix, slices: Integers) -> None:
        self._sums.add(self.quantiser.clipped(K), slices)

    # --- what was learned -------------------------------------------------------------------------

    def sums(self) -> Matrix:
        """Slice sums, coordinates x slices, in grid steps."""
        self._flush()
        return self._sums.by_slice

    def counts(self) -> Matrix:
        """Records per slice."""
        self._flush()
        return self._sums.counts

    def second(self) -> Matrix | None:
        """Second moment, in squared grid steps, where the stage has one."""
        self._flush()
        return self._sums.second

    def merge(self, other: Moments) -> None:
        """Add what another accumulator of the same stage has learned."""
        if other.stage != self.stage or other._task != self._task:
            raise ValueError("only accumulators of the same task and stage can be merged")
        other._flush()
        self._check_room(other.n)
        self._flush()
        self._sums.merge(other._sums)
        for reason, count in other.refused.items():  # null records are in the sums already
            self._refused[reason] = self._refused.get(reason, 0) + count

    def state(self) -> dict[str, Any]:
        """Everything learned, as plain values and bytes."""
        self._flush()
        return {"n": self.n, "refused": dict(self.refused), "arrays": self._sums.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what `state` was taken from."""
        self._sums.restore(int(state["n"]), state["arrays"])
        self._waiting.clear()
        self._refused = dict(state["refused"])
