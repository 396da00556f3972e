"""What a device has learned so far for one stage.

These are running moments, or quantised rows where two stages need them (`learning/kept.py`). Both
hold exactly what the moments of the stage need, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgpack

from edge_agent.state.learned import Kept
from edge_agent.watch.counts import Counts
from edge_agent.watch.faults import counts_of
from fsir.arrays import Matrix
from fsir.privacy.moments import Moments
from fsir.privacy.plan import Stage
from fsir.task.task import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Learner(Protocol):
    """Learns the records of one report."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features that the stage is about."""

    @property
    def stage(self) -> Stage:
        """The stage that it learns for."""

    @property
    def n(self) -> int:
        """Records that a report would be about."""

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that were not accepted, by reason."""

    def learn_one(self, x: Mapping[str, Any], y: Any) -> bool:
        """Learn one record, or refuse and count it; true if it was learned.

        Values of other names than those of the stage are passed by.
        """

    def learn_sound(self, xs: Sequence[Mapping[str, Any]], ys: Sequence[Any]) -> bool:
        """Learn records together, if it can, and all are plainly sound; false: none was learned.

        The same as `learn_one` on each.
        """

    def learn_many(self, X: Matrix, y: Sequence[Any] | NDArray[Any]) -> None:
        """Learn rows over all features of the task."""

    def refuse(self, reason: str) -> None:
        """Count a record that was not even tried."""

    def watched(self) -> Counts:
        """What all records that were accepted look like."""

    def learned(self) -> bytes:
        """Everything learned that is not in rows, for the state file."""

    @property
    def keeps_rows(self) -> bool:
        """Whether what was learned is in rows of the state file."""

    def take_kept(self) -> tuple[Kept, ...]:
        """Rows that are not in the state file yet."""

    def note_stored(self, count: Callable[[], int]) -> None:
        """The state file has so many rows; asked only by who keeps rows."""

    def moments(self, kept: Iterable[Kept]) -> Moments:
        """The moments of the stage; `kept` are the rows in the state file."""


def names_of(task: Task, stage: Stage) -> tuple[str, ...]:
    """The features that a stage is about."""
    return tuple(task.features.names[j] for j in stage.features)


def restore_watch(watch: Counts, state: Mapping[str, Any]) -> None:
    """As far as the state file has it: version 0.1 did not count."""
    if "watch" in state:
        watch.restore(state["watch"])


class MomentsLearner:
    """Learns the moments of a stage whose features are known."""

    keeps_rows = False

    def __init__(self, task: Task, stage: Stage, moments: Moments | None = None) -> None:
        self.names = names_of(task, stage)
        self.stage = stage
        self._watch = counts_of(task, stage)
        self._moments = Moments(task, stage, self._watch.add) if moments is None else moments
        self._columns = list(stage.features) if len(stage.features) < task.p else None

    @classmethod
    def restored(cls, task: Task, stage: Stage, learned: bytes | None) -> MomentsLearner:
        """Go on with what `learned` has given to the state file."""
        learner = cls(task, stage)
        if learned is not None:
            state = msgpack.unpackb(learned)
            learner._moments.restore(state)
            restore_watch(learner._watch, state)
        return learner

    @property
    def n(self) -> int:
        """Records that a report would be about."""
        return self._moments.n

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that were not accepted, by reason."""
        return self._moments.refused

    def learn_one(self, x: Mapping[str, Any], y: Any) -> bool:
        """Learn one record, or refuse and count it; true if it was learned."""
        return self._moments.learn_one(x, y, others=True)

    def learn_sound(self, xs: Sequence[Mapping[str, Any]], ys: Sequence[Any]) -> bool:
        """Learn records together, if all are plainly sound; false: none was learned."""
        return self._moments.learn_sound(xs, ys)

    def refuse(self, reason: str) -> None:
        """Count a record that was not even tried."""
        self._moments.refuse(reason)

    def learn_many(self, X: Matrix, y: Sequence[Any] | NDArray[Any]) -> None:
        """Learn rows over all features of the task."""
        self._moments.learn_many(X if self._columns is None else X[:, self._columns], y)

    def watched(self) -> Counts:
        """What all records that were accepted look like."""
        self._moments.counts()  # those that wait in a buffer, too
        return self._watch

    def learned(self) -> bytes:
        """Everything learned, for the state file."""
        raw: bytes = msgpack.packb(self._moments.state() | {"watch": self._watch.state()})
        return raw

    def take_kept(self) -> tuple[Kept, ...]:
        """None: moments hold it all."""
        return ()

    def note_stored(self, count: Callable[[], int]) -> None:
        """Nothing: there are no rows."""

    def moments(self, kept: Iterable[Kept]) -> Moments:
        """What was learned."""
        return self._moments
