"""What a device has learned for its tasks, from which stream, and how far it has come.

Accumulators, kept rows and the position in the source are one transaction: no record is learned
twice, and none is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from edge_agent.records import START, Position
from edge_agent.state.rows import Progress
from edge_agent.state.tasks import Tasks
from fsir.arrays import Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kept: TypeAlias = "tuple[NDArray[np.int16], Integers]"  # quantised rows, and their slices


class Learned(Tasks):
    """A state file, as far as records are concerned."""

    def progress(self, name: str) -> Progress:
        """What was saved last."""
        columns = ("source", "first", "last", "learned")
        for source, first, last, learned in self._db.find("tasks", columns, name=name):
            position = self.position(name, source)
            return Progress(position=position, first=first, last=last, learned=learned)
        return Progress()

    def position(self, name: str, source: str) -> Position:
        """How far a task has come in a source."""
        return self._positions.of(name, source)

    def last_position(self, source: str) -> Position:
        """The furthest that any task has come in a source."""
        return self._positions.last(source)

    def positions(self, source: str) -> list[Position]:
        """How far everyone has come in a source, whoever that was."""
        return self._positions.all(source)

    # --- streams ----------------------------------------------------------------------------------

    def stream(self, name: str) -> str:
        """The stream that a task has learned from; empty if nobody noted it."""
        # All columns: a file of version 1 that is only looked at has no streams.
        rows = self._db.named("tasks", name=name)
        return next((row.get("stream", "") for row in rows), "")

    def lasts(self, name: str) -> bool:
        """Whether what a task has learned outlives the run: its stream is the source itself."""
        pin = self.pinned(name)
        return pin is None or self.stream(name) in ("", pin.source)

    def follow(self, name: str, stream: str, *, drop: bool) -> None:
        """From now on the task learns from this stream; with `drop` it starts anew."""
        with self._db.transaction():
            self._db.change("tasks", {"stream": stream}, name=name)
            if drop:
                self._save(name, Progress(), (), drop_kept=True)

    # --- what was learned -------------------------------------------------------------------------

    def save(self, name: str, progress: Progress, kept: tuple[Kept, ...] = ()) -> None:
        """Commit accumulators, rows kept since the last time, and the position of both."""
        with self._db.transaction():
            self._save(name, progress, kept, drop_kept=False)

    def _save(
        self, name: str, progress: Progress, kept: tuple[Kept, ...], *, drop_kept: bool
    ) -> None:
        fields = ("first", "last", "learned")
        self._db.change("tasks", {field: getattr(progress, field) for field in fields}, name=name)
        if progress.learned is None:  # with the records their report goes, too
            self.holds.drop(name)
        if progress.position != START:
            for (source,) in self._db.find("tasks", ("source",), name=name):
                self._positions.put(name, source, progress.position)
        for K, slices in kept:
            block = {"task": name, "n": len(K), "K": K.tobytes(), "slices": slices.tobytes()}
            self._db.insert("kept", block)
        if drop_kept:
            self._db.remove("kept", task=name)

    def pin_active(self, name: str, features: tuple[str, ...], progress: Progress) -> None:
        """Accept an active set, for good, with what the learned becomes under it.

        Rows that were kept are needed no more.
        """
        with self._db.transaction():
            self._db.change("tasks", {"active": json.dumps(features)}, name=name)
            self._save(name, progress, (), drop_kept=True)

    def kept_count(self, name: str) -> int:
        """Number of rows kept for a second stage."""
        return sum(n for (n,) in self._db.find("kept", ("n",), task=name))

    def kept(self, name: str, p: int) -> Iterator[Kept]:
        """The rows kept for a second stage, block by block."""
        for K, slices in self._db.each("kept", ("K", "slices"), task=name):
            yield np.frombuffer(K, np.int16).reshape(-1, p), np.frombuffer(slices, np.int64)
