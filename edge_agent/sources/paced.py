"""Replay at the speed at which records were made: a record is handed out when its time has come."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any

from edge_agent.records import Position, Record
from edge_agent.sources.base import Source, is_patient

log = logging.getLogger("fsir.source")
JUMP_SECONDS = 86_400.0  # between two records: nobody waits for so long


def seconds_of(value: Any) -> float | None:
    """A time in seconds, from a number or an ISO 8601 text; None if it is neither, or not finite.

    >>> seconds_of("12.5"), seconds_of("1970-01-01T00:01:00+00:00"), seconds_of("noon")
    (12.5, 60.0, None)
    """
    try:
        seconds = float(value)
        return seconds if math.isfinite(seconds) else None
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return None


class Paced:
    """Another source, slowed down to `speed` times the pace of its time column."""

    def __init__(
        self, source: Source, column: str, speed: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._source = source
        self._column = column
        self._speed = speed
        self._clock = clock
        self._waiting: deque[Record] = deque()
        self._start: tuple[float, float] | None = None  # (clock, time of the first record)
        self._last: float | None = None  # time of the record handed out last
        self._told = False  # that a record has no time

    @property
    def name(self) -> str:
        """The name of the source itself: its records are the same at any speed."""
        return self._source.name

    @property
    def label(self) -> str:
        """As the source itself."""
        return self._source.label

    @property
    def stream(self) -> str:
        """As the source itself."""
        return self._source.stream

    @property
    def unit_records(self) -> int:
        """As the source itself."""
        return self._source.unit_records

    @property
    def replayable(self) -> bool:
        """As the source itself."""
        return self._source.replayable

    @property
    def patient(self) -> bool:
        """As the source itself."""
        return is_patient(self._source)

    @property
    def ended(self) -> bool:
        """Whether everything has been handed out."""
        return self._source.ended and not self._waiting

    def resume(self, after: Position) -> None:
        """Go on behind a record; its pace starts anew."""
        self._source.resume(after)

    def poll(self, limit: int) -> list[Record]:
        """The records whose time has come."""
        if not self._waiting:
            self._waiting.extend(self._source.poll(limit))
        due: list[Record] = []
        while self._waiting and len(due) < limit and self._until(self._waiting[0]) <= 0.0:
            record = self._waiting.popleft()
            if (made := self._time_of(record)) is not None:
                self._last = made
            due.append(record)
        return due

    def _time_of(self, record: Record) -> float | None:
        made = seconds_of(record.x.get(self._column))
        if made is None and record.span is not None:
            return record.span[1]  # a window of a recording is there when it is complete
        return made

    def _until(self, record: Record) -> float:
        made = self._time_of(record)
        if made is None:
            self._tell(record)
            return 0.0  # a record without a time is not held back
        # A single wrong time must not hold up all that follow: over a jump the pace starts anew.
        jump = self._last is not None and abs(made - self._last) > JUMP_SECONDS
        if self._start is None or jump:
            self._start = (self._clock(), made)
            self._last = made
        begun, first = self._start
        return begun + (made - first) / self._speed - self._clock()

    def _tell(self, record: Record) -> None:
        """Once; a record without any values was told of by its source."""
        if record.x and not self._told:
            self._told = True
            log.warning(
                "%s: record %d has no time under %r: such records are not held back; "
                "is the --time-column right?",
                self.name,
                record.position.ordinal,
                self._column,
            )

    def fileno(self) -> int | None:
        """What to wait on, while nothing waits here."""
        return None if self._waiting else self._source.fileno()

    def delay(self) -> float:
        """Until the next record is due."""
        return max(0.0, self._until(self._waiting[0])) if self._waiting else self._source.delay()

    def close(self) -> None:
        """Close the source."""
        self._source.close()
