"""`signals:FILE`: a recording of an accelerometer and a gyroscope, as CSV with a header.

Columns: `time` (seconds since the epoch, or ISO 8601), `acc_x`, `acc_y`, `acc_z` (g, gravity
included), `gyro_x`, `gyro_y`, `gyro_z` (rad/s), and optionally `label`: what the person was doing.
A window has a label if all of its samples have the same one. Interrupted anywhere, reading goes on
with the windows that would have come anyway.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edge_agent.errors import SourceError
from edge_agent.records import Position, Record
from edge_agent.sources.base import Options
from edge_agent.sources.csv_file import CsvFile
from edge_agent.sources.paced import seconds_of
from edge_agent.sources.samples import LABEL, LATEST_SECONDS, Samples, ranges
from edge_agent.sources.tally import Tally
from edge_agent.sources.windowed import SignalSource

COLUMNS = ("time", "acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")
ROWS = 512  # at a time: eight windows at 50 Hz
_NO_TIME = "rows skipped: no time in seconds since the epoch (or ISO 8601)"


def open_recording(rest: str, options: Options) -> SignalSource:
    """The windows of a file."""
    if options.time_column not in (None, "time"):
        raise SourceError(
            f"--time-column {options.time_column}: "
            "a recording has its times in the column time; name that"
        )
    scales = ranges(f"signals:{rest}", options)
    return SignalSource(Recording(rest, options), *scales)


class Recording:
    """Reads samples from a table, also from one that grows (`--follow`)."""

    replayable = True

    def __init__(self, rest: str, options: Options) -> None:
        self._rows = CsvFile(rest, options)
        self.name = f"signals:{self._rows.path}"
        self.tally = Tally(self.name)
        self._rows.tally = self.tally  # which tells of rows that are no rows
        self._before: Any = None  # cursor of the row read last
        self._checked = False

    @property
    def ended(self) -> bool:
        """Whether the end was reached and nobody follows it."""
        return self._rows.ended

    def start(self, cursor: Any) -> None:
        """Go on behind a row."""
        self._before = cursor
        self._rows.resume(Position(-1, cursor))

    def read(self) -> list[Samples]:
        """The next rows."""
        rows = self._rows.poll(ROWS)
        if not self._checked and self._rows.columns:
            self._check_columns()
            self._checked = True
        behind = [self._before, *(row.position.cursor for row in rows[:-1])]
        dated = [
            (time, row, place)
            for row, place in zip(rows, behind, strict=False)
            if (time := _time(row)) >= 0
        ]
        self.tally.add(_NO_TIME, sum(bool(row.x) for row in rows) - len(dated))
        if rows:
            self._before = rows[-1].position.cursor
        return [self._samples(dated)] if dated else []

    def _check_columns(self) -> None:
        if missing := [name for name in COLUMNS if name not in self._rows.columns]:
            raise SourceError(
                f"{self.name}: there is no column {', '.join(missing)} in the header; "
                f"a recording has the columns {', '.join(COLUMNS)} (seconds, g, rad/s) and, "
                f"if you like, {LABEL}"
            )

    def _samples(self, dated: list[tuple[float, Record, Any]]) -> Samples:
        """Rows with their times and the cursors before them."""
        values = np.array([[_number(row.x[name]) for name in COLUMNS[1:]] for _, row, _ in dated])
        labels = None
        if LABEL in self._rows.columns:
            labels = [str(row.x[LABEL]).strip() for _, row, _ in dated]
        return Samples(
            times=np.array([time for time, _, _ in dated]),
            acc=values[:, :3],
            gyro=values[:, 3:],
            labels=labels,
            behind=[place for _, _, place in dated],
        )

    def fileno(self) -> int | None:
        """A file is always ready."""
        return None

    def delay(self) -> float:
        """How long to wait at the end of a file that grows."""
        return self._rows.delay()

    def close(self) -> None:
        """Close the file."""
        self._rows.close()


def _time(row: Record) -> float:
    """The time of a row; -1 if it has none."""
    time = seconds_of(row.x.get("time"))
    return time if time is not None and 0 <= time < LATEST_SECONDS else -1.0


def _number(text: Any) -> float:
    """A reading; NaN, which drops its windows, if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
