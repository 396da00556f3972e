"""Samples of motion sensors, whoever delivers them: what a reader is, so that others can add one.

Where samples come from is the matter of a `Reader`: see iio/, phone/ and recording.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from edge_agent.errors import SourceError
from edge_agent.sources.base import Options
from fsir.arrays import Matrix

LABEL = "label"  # what a person was doing, in a recording or when a button was pressed
STANDARD_GRAVITY = 9.80665  # m/s^2 in one g
LATEST_SECONDS = 2.0**37  # since the epoch: later times are milliseconds, or nonsense


class Samples(NamedTuple):
    """A piece of a stream: of both sensors at the same times, or of one alone."""

    times: Matrix  # seconds since the epoch
    acc: Matrix | None = None  # g, n x 3
    gyro: Matrix | None = None  # rad/s, n x 3
    labels: Sequence[str] | None = None  # one for each sample, empty where there is none
    # Of a recording: for each sample the cursor behind which it is read again.
    behind: Sequence[Any] = ()

    def part(self, rows: slice) -> Samples:
        """Some of the samples, with all that is known about them."""
        return Samples(
            times=self.times[rows],
            acc=None if self.acc is None else self.acc[rows],
            gyro=None if self.gyro is None else self.gyro[rows],
            labels=None if self.labels is None else self.labels[rows],
            behind=self.behind[rows],
        )


class Reader(Protocol):
    """Delivers samples, without waiting.

    A `replayable` one tells with each sample how to read it again.
    """

    name: str
    replayable: bool

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""

    def start(self, cursor: Any) -> None:
        """Begin, behind a cursor if this is a recording.

        Before the first read, where the last call counts.
        """

    def read(self) -> list[Samples]:
        """What is there now, in pieces of bounded size."""

    def fileno(self) -> int | None:
        """What to wait on for more, or None: ask again after `delay`."""

    def delay(self) -> float:
        """Seconds until another read is worth it."""

    def close(self) -> None:
        """Let go of files and connections."""


def ranges(name: str, options: Options) -> tuple[float, float]:
    """The full scale that the owner gave, in g and rad/s.

    There is no default, which would let cut-off peaks pass.
    """
    acc = _range(name, "accelerometer", "--acc-range", options.acc_range, "2, 4, 8 or 16 g")
    usual = "4.36, 8.73, 17.5 or 34.9 rad/s (250 to 2000 degrees/s)"
    return acc, _range(name, "gyroscope", "--gyro-range", options.gyro_range, usual)


def _range(name: str, sensor: str, flag: str, value: float | None, usual: str) -> float:
    if value is None:
        raise SourceError(
            f"source {name}: the full scale of its {sensor} is not known; give {flag}, usually "
            f"{usual}: beyond it a peak is cut off, and its window must be dropped"
        )
    if not 0 < value < math.inf:
        raise SourceError(f"{flag} {value:g}: a full scale is finite and above 0, usually {usual}")
    return float(value)
