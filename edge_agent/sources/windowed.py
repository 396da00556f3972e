"""Samples of an accelerometer and a gyroscope to records of 561 scaled features, whoever delivers the samples.

A record is a window of 2.56 s. Its ordinal is the number of the window since the epoch: public, rising, the same
whatever happens to process or clock, so that no window is ever a record twice. What could not be used is said in the
log with its reason. Where samples come from is the matter of a `Reader`: see iio.py, sensorlogger.py, recording.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edge_agent.errors import SourceError
from edge_agent.records import Position, Record
from edge_agent.signal.features import FEATURE_NAMES, features, scale
from edge_agent.signal.track import RATE
from edge_agent.signal.windows import HOP, WINDOW, Window, Windower, positions_of
from edge_agent.sources.base import Options
from edge_agent.sources.tally import Tally
from edge_agent.sources.trail import Trail

Array = NDArray[np.float64]

STANDARD_GRAVITY = 9.80665  # m/s^2
LATEST = 2.0**37  # seconds since the epoch: later times are milliseconds, or nonsense

_DROPPED = {
    "gap": "windows dropped: samples were missing (a stall, a start in mid-window)",
    "sparse": "windows dropped: the sensor is slower than 45 samples a second, or dates several samples alike",
    "backward": "windows dropped: the clock went back",
    "not finite": "windows dropped: a reading is not a number",
    "saturated": "windows dropped: a reading at full scale, its true height is not known",
    "stuck": "windows dropped: the sensor gave the very same reading for more than 0.125 s",
}
_REFUSED = {
    "stale": "samples refused: they are older than the last window (delivered late, or the clock was ahead before)",
    "repeated": "samples refused: in the same millisecond as the one before (delivered twice, or read too fast)",
    "behind": "samples refused: the other sensor is more than 2.56 s ahead; do both have the same clock?",
}
_ORDINARY = {_DROPPED["gap"]: 2}  # a sensor that is switched on starts in the middle of two windows


@dataclass(frozen=True)
class Samples:
    """A piece of a stream: seconds since the epoch, g, rad/s; of both sensors at the same times, or of one alone."""

    times: Array
    acc: Array | None = None  # n x 3
    gyro: Array | None = None
    labels: Sequence[str] | None = None  # one for each sample, empty where there is none
    behind: Sequence[
        Any
    ] = ()  # of a recording: for each sample the cursor behind which it is read again


class Reader(Protocol):
    """Delivers samples, without waiting. A `replayable` one tells with each sample how to read it again."""

    name: str
    replayable: bool

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""

    def start(self, cursor: Any) -> None:
        """Begin, behind a cursor if this is a recording; before the first read, where the last call counts."""

    def read(self) -> list[Samples]:
        """What is there now, in pieces of bounded size."""

    def fileno(self) -> int | None:
        """What to wait on for more, or None: ask again after `delay`."""

    def delay(self) -> float:
        """Seconds until another read is worth it."""

    def close(self) -> None:
        """Let go of files and connections."""


def ranges(name: str, options: Options) -> tuple[float, float]:
    """The full scale that the owner gave, in g and rad/s; there is no default, which would let cut-off peaks pass."""
    found = []
    for sensor, flag, value, usual in (
        ("accelerometer", "--acc-range", options.acc_range, "2, 4, 8 or 16 g"),
        (
            "gyroscope",
            "--gyro-range",
            options.gyro_range,
            "4.36, 8.73, 17.5 or 34.9 rad/s (250 to 2000 degrees/s)",
        ),
    ):
        if value is None:
            raise SourceError(
                f"source {name}: the full scale of its {sensor} is not known; give {flag}, usually {usual}: beyond it "
                "a peak is cut off, and its window must be dropped"
            )
        if not 0 < value < np.inf:
            raise SourceError(
                f"{flag} {value:g}: a full scale is finite and above 0, usually {usual}"
            )
        found.append(float(value))
    return found[0], found[1]


class SignalSource:
    """A source of windows, from any reader of samples."""

    def __init__(self, reader: Reader, acc_range: float, gyro_range: float) -> None:
        self._reader, self._ranges = reader, (acc_range, gyro_range)
        self.name = self.stream = reader.name
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
        """A recording continues right behind a window; a sensor refuses samples from before its end."""
        self._last = after.ordinal
        if self.replayable:
            self._trail, self._again = Trail(after.cursor), after.ordinal >= 0
            self._reader.start(after.cursor)
        else:
            since = -np.inf if after.ordinal < 0 else (after.ordinal * HOP + WINDOW) / RATE
            self._windower = Windower(0, *self._ranges, since=since)
            self._reader.start(None)

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` windows that are complete now; their features are computed here, when they are wanted."""
        if not self._waiting:
            for samples in self._reader.read():
                self._follow(samples) if self.replayable else self._take(samples)
            self._count()
        taken = [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]
        if not taken:
            return []
        rows = scale(features(np.stack([window.signals for _, window, _ in taken]))).tolist()
        return [
            Record(position, dict(zip(FEATURE_NAMES, row, strict=True)), label, _span(window.index))
            for (position, window, label), row in zip(taken, rows, strict=True)
        ]

    def _take(self, samples: Samples) -> None:
        for window in self._push(samples.times, samples.acc, samples.gyro):
            if window.index > self._last:
                self._last = window.index
                self._waiting.append((Position(window.index), window, None))

    def _push(self, times: Array, acc: Array | None, gyro: Array | None) -> list[Window]:
        if acc is not None and gyro is not None:
            return self._windower.push(times, acc, gyro)
        if acc is not None:
            return self._windower.push_acceleration(times, acc)
        return [] if gyro is None else self._windower.push_rotation(times, gyro)

    def _follow(self, samples: Samples) -> None:
        """The same for a recording, in runs that complete one window each, so that the place of each is known."""
        positions, refused = positions_of(samples.times), self._windower.refused
        for low, high in self._trail.runs(positions):
            before = refused["stale"], refused["repeated"]
            part = slice(low, high)
            acc, gyro = (
                None if values is None else values[part] for values in (samples.acc, samples.gyro)
            )
            windows = self._push(samples.times[part], acc, gyro)
            labels = None if samples.labels is None else samples.labels[part]
            stale, repeated = refused["stale"] - before[0], refused["repeated"] - before[1]
            self._trail.follow(positions[part], samples.behind[part], labels, stale, repeated)
            for window in windows:
                cursor, label = self._trail.cursor(window.index), self._trail.label(window.index)
                if window.index > self._last:
                    self._last = window.index
                    self._waiting.append((Position(window.index, cursor), window, label))
                elif window.index == self._last and self._again:
                    self._counted, self._again = self._totals(), False

    def _totals(self) -> dict[str, int]:
        dropped = {_DROPPED[reason]: count for reason, count in self._windower.dropped.items()}
        return dropped | {
            _REFUSED[reason]: count for reason, count in self._windower.refused.items()
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


def _span(index: int) -> tuple[float, float]:
    return index * HOP / RATE, (index * HOP + WINDOW) / RATE
