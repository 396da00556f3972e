"""Exact clipped accumulators: slice sums, counts and second moments of a stream, in one pass.

A record is standardised with public constants, truncated to [-R, R], quantised toward zero on a
public grid and scaled down to norm C: none of the three ever raises a norm. (A task with a public
map has it in between, `fsir.task.exact_map`.) Sums of the resulting
integers are exact in float64 below 2^53, so that BLAS may add them in any order, and any split or
merge of a stream gives the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsir.arrays import Integers, Matrix
from fsir.errors import RecordError
from fsir.privacy.plan import Stage
from fsir.privacy.quantiser import quantiser_of
from fsir.privacy.sums import Sums
from fsir.task.records import RecordReader
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task

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

    Attributes
    ----------
    n : int
        Records that a report would be about: those offered, of which refused ones are null. Under a
        task of version 1, those learned.
    refused : dict[str, int]
        Records that could not be learned from, by reason.

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
        self.refused: dict[str, int] = {}
        self._task = task
        self._look = look
        self._slicing = task.slicing
        self._reader = RecordReader(task, stage.features)
        self._sums = Sums(stage, self.quantiser)
        # Long enough for BLAS to be at its best, at most 2 MiB for all but the widest records.
        inputs = len(stage.features)
        self._buffer = np.empty((min(1024, max(64, 2**18 // inputs)), inputs))
        self._buffered_slices = np.empty(len(self._buffer), np.int64)
        self._waiting = 0

    @property
    def n(self) -> int:
        """Records that a report would be about, those still in the buffer included."""
        return self._sums.n + self._waiting

    # --- learning ---------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[str, Any], y: Any) -> bool:
        """Learn one record, or refuse and count it; true if it was learned."""
        try:
            row, h = self.read(x, y)
        except RecordError as error:
            self.refuse(error.reason)
            return False
        if self._waiting == len(self._buffer):
            self._flush()
        self._check_room(1)
        self._buffer[self._waiting] = row
        self._buffered_slices[self._waiting] = h
        self._waiting += 1
        return True

    def read(self, x: Mapping[str, Any], y: Any) -> tuple[Matrix, int]:
        """The row and slice of a record, or a `RecordError` that says what is wrong with it."""
        return self._reader.read(x, y)

    def learn_many(self, X: ArrayLike, y: Sequence[Any] | NDArray[Any]) -> None:
        """Learn rows whose columns are the stage's features.

        Bit for bit the same as `learn_one` on each.
        """
        rows = self._rows(X)
        slices = self._slices(y, len(rows))
        known = slices != UNKNOWN
        finite = np.isfinite(rows)
        if not (known.all() and finite.all()):
            good = finite.all(axis=1) & known
            self._check_room(len(rows) if self.stage.offered else int(good.sum()))
            self.refuse("unknown response", int((~known).sum()))
            self.refuse("not finite", int((known & ~good).sum()))
            rows = rows[good]
            slices = slices[good]
        self._check_room(len(rows))
        self._learn_rows(rows, slices)

    def _rows(self, X: ArrayLike) -> Matrix:
        rows = np.asarray(X, dtype=np.float64)
        inputs = self._buffer.shape[1]
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
        size = len(self._buffer)
        start = 0
        while start < len(rows):
            if not self._waiting and len(rows) - start >= size:  # large blocks need no copy
                block = slice(start, start + size)
                self._take(rows[block], slices[block])
            else:
                block = slice(start, start + size - self._waiting)
                self._wait(rows[block], slices[block])
            start = block.stop

    def _wait(self, rows: Matrix, slices: Integers) -> None:
        """Put rows into the buffer, which has room for them."""
        end = self._waiting + len(rows)
        self._buffer[self._waiting : end] = rows
        self._buffered_slices[self._waiting : end] = slices
        self._waiting = end
        if self._waiting == len(self._buffer):
            self._flush()

    def add_quantised(self, K: Matrix, slices: Integers) -> None:
        """Add rows that `Quantiser.truncated` made earlier; those without a slice are null."""
        self._check_room(len(K))
        known = slices != UNKNOWN
        self._add(K[known].astype(np.float64), slices[known])
        self._sums.add_null(len(K) - int(known.sum()))

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count records that cannot be learned from; where offered records count, as null."""
        if not count:
            return
        if self.stage.offered:
            self._check_room(count)
            self._sums.add_null(count)
        self.refused[reason] = self.refused.get(reason, 0) + count

    def _check_room(self, more: int) -> None:
        self._sums.check_room(self.n, more)

    def _flush(self) -> None:
        waiting = self._waiting
        self._waiting = 0
        if waiting:
            self._take(self._buffer[:waiting], self._buffered_slices[:waiting])

    def _take(self, rows: Matrix, slices: Integers) -> None:
        if self._look is not None:
            self._look(rows, slices)
        self._add(self.quantiser.whole(rows, slices), slices)

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
            self.refused[reason] = self.refused.get(reason, 0) + count

    def state(self) -> dict[str, Any]:
        """Everything learned, as plain values and bytes."""
        self._flush()
        return {"n": self.n, "refused": dict(self.refused), "arrays": self._sums.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what `state` was taken from."""
        self._sums.restore(int(state["n"]), state["arrays"])
        self._waiting = 0
        self.refused = dict(state["refused"])
