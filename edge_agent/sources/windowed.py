"""Samples of an accelerometer and a gyroscope to records of 561 scaled features.

A record is a window of 2.56 s. Its ordinal is the number of the window since the epoch: public,
rising, the same whatever happens to process or clock, so that no window is ever a record twice.
What could not be used is said in the log with its reason.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from edge_agent.records import Position, Record
from edge_agent.signal.features import FEATURE_NAMES, features, scale
from edge_agent.signal.grid import positions_of, span_of
from edge_agent.signal.windows import Window, Windower
from edge_agent.sources.samples import LABEL, Reader, Samples
from edge_agent.sources.tally import Tally
from edge_agent.sources.trail import Trail

_DROPPED = {
    "gap": "windows dropped: samples were missing (a stall, a start in mid-window)",
    "sparse": (
        "windows dropped: the sensor is slower than 45 samples a second, "
        "or dates several samples alike"
    ),
    "backward": "windows dropped: the clock went back",
    "not finite": "windows dropped: a reading is not a number",
    "saturated": "windows dropped: a reading at full scale, its true height is not known",
    "stuck": "windows dropped: the sensor gave the very same reading for more than 0.125 s",
}
_REFUSED = {
    "stale": (
        "samples refused: they are older than the last window "
        "(delivered late, or the clock was ahead before)"
    ),
    "repeated": (
        "samples refused: in the same millisecond as the one before "
        "(delivered twice, or read too fast)"
    ),
    "behind": (
        "samples refused: the other sensor is more than 2.56 s ahead; do both have the same clock?"
    ),
}
# A sensor that is switched on starts in the middle of two windows.
_ORDINARY = {_DROPPED["gap"]: 2}


class SignalSource:
    """A source of windows, from any reader of samples."""

    def __init__(self, reader: Reader, acc_range: float, gyro_range: float) -> None:
        self._reader = reader
        self._ranges = (acc_range, gyro_range)
        self.name = reader.name
        self.stream = reader.name
        self.label = LABEL  # of its own, or the one that was pressed while it lasted
        self.replayable = reader.replayable
        self.tally = Tally(self.name, _ORDINARY)
        self._waiting: deque[tuple[Position, Window, str | None]] = deque()
        self._last = -1
        self._windower = Windower(0, *self._ranges)
        self.unit_records = self._windower.unit_records
        self._trail = Trail()
        self._counted: dict[str, int] = {}
        self._again = False  # reading again what was read before an interruption

    @property
    def ended(self) -> bool:
        """Whether everything has been handed out."""
        return self._reader.ended and not self._waiting

    def resume(self, after: Position) -> None:
        """A recording continues right behind a window; a sensor refuses samples before its end."""
        self._last = after.ordinal
        if self.replayable:
            self._trail = Trail(after.cursor)
            self._again = after.ordinal >= 0
            self._reader.start(after.cursor)
        else:
            since = -np.inf if after.ordinal < 0 else span_of(after.ordinal)[1]
            self._windower = Windower(0, *self._ranges, since=since)
            self._reader.start(None)

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` windows that are complete now.

        Their features are computed here, when they are wanted.
        """
        if not self._waiting:
            for samples in self._reader.read():
                self._follow(samples) if self.replayable else self._take(samples)
            self._count()
        taken = [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]
        rows = iter(_features([window for _, window, _ in taken if not window.fault]))
        return [
            Record(
                position,
                {} if window.fault else dict(zip(FEATURE_NAMES, next(rows), strict=True)),
                y,
                span_of(window.index),
                window.fault,
            )
            for position, window, y in taken
        ]

    def _take(self, samples: Samples) -> None:
        for window in self._push(samples):
            if window.index > self._last:
                self._keep(window)

    def _keep(self, window: Window, cursor: Any = None, label: str | None = None) -> None:
        self._last = window.index
        self._waiting.append((Position(window.index, cursor), window, label))

    def _push(self, samples: Samples) -> list[Window]:
        if samples.acc is not None and samples.gyro is not None:
            return self._windower.push(samples.times, samples.acc, samples.gyro)
        if samples.acc is not None:
            return self._windower.push_acceleration(samples.times, samples.acc)
        if samples.gyro is not None:
            return self._windower.push_rotation(samples.times, samples.gyro)
        return []

    def _follow(self, samples: Samples) -> None:
        """The same for a recording, in runs that complete one window each.

        So the place of each window in the recording is known.
        """
        positions = positions_of(samples.times)
        refused = self._windower.refused
        for low, high in self._trail.runs(positions):
            run = samples.part(slice(low, high))
            before = refused.copy()
            windows = self._push(run)
            more = refused - before
            self._trail.follow(
                positions[low:high], run.behind, run.labels, more["stale"], more["repeated"]
            )
            for window in windows:
                self._place(window)

    def _place(self, window: Window) -> None:
        cursor = self._trail.cursor(window.index)
        label = self._trail.label(window.index)
        if window.index > self._last:
            self._keep(window, cursor, label)
        elif window.index == self._last and self._again:
            self._counted = self._totals()
            self._again = False

    def _totals(self) -> dict[str, int]:
        dropped = self._windower.dropped
        refused = self._windower.refused
        return {_DROPPED[reason]: count for reason, count in dropped.items()} | {
            _REFUSED[reason]: count for reason, count in refused.items()
        }

    def _count(self) -> None:
        if not self._again:
            totals = self._totals()
            for kind, count in totals.items():
                self.tally.add(kind, count - self._counted.get(kind, 0))
            self._counted = totals

    def fileno(self) -> int | None:
        """What to wait on, while nothing waits here."""
        return None if self._waiting else self._reader.fileno()

    def delay(self) -> float:
        """At once while windows wait."""
        return 0.0 if self._waiting else self._reader.delay()

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()


def _features(windows: list[Window]) -> list[list[float]]:
    """One row for each window."""
    if not windows:
        return []
    rows: list[list[float]] = scale(features(np.stack([w.signals for w in windows]))).tolist()
    return rows
