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
from edge_agent.sources.base import Source, unit_records

log = logging.getLogger("fsir.source")
JUMP = 86_400.0  # seconds between two records that nobody waits for


def seconds_of(value: Any) -> float | None:
    """A time in seconds, from a number or an ISO 8601 text; None if it is neither, or not finite."""
    try:
        moment = float(value)
        return moment if math.isfinite(moment) else None
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
        self._source, self._column, self._speed, self._clock = source, column, speed, clock
        self._waiting: deque[Record] = deque()
        self._start: tuple[float, float] | None = None  # (clock, time of the first record)
        self._last: float | None = None  # time of the record handed out last
        self._told = False  # that a record has no time

    @property
    def name(self) -> str:
        """The name of the source itself: its records are the same at any speed."""
        return self._source.name

    @property
    def stream(self) -> str:
        """As the source itself."""
        return self._source.stream

    @property
    def unit_records(self) -> int:
        """As the source itself."""
        return unit_records(self._source)

    @property
    def replayable(self) -> bool:
        """As the source itself."""
        return self._source.replayable

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
        found: list[Record] = []
        while self._waiting and len(found) < limit and self._until(self._waiting[0]) <= 0.0:
            record = self._waiting.popleft()
            self._last = self._last if (moment := self._moment(record)) is None else moment
            found.append(record)
        return found

    def _moment(self, record: Record) -> float | None:
        moment = seconds_of(record.x.get(self._column))
        if moment is None and record.span is not None:
            return record.span[1]  # a window of a recording is there when it is complete
        return moment

    def _until(self, record: Record) -> float:
        moment = self._moment(record)
        if moment is None:
            self._tell(record)
            return 0.0  # a record without a time is not held back
        # A single wrong time must not hold up all that follow: over a jump the pace starts anew.
        jump = self._last is not None and abs(moment - self._last) > JUMP
        if self._start is None or jump:
            self._start, self._last = (self._clock(), moment), moment
        begun, first = self._start
        return begun + (moment - first) / self._speed - self._clock()

    def _tell(self, record: Record) -> None:
        """Once; a record without any values was told of by its source."""
        if record.x and not self._told:
            self._told = True
            log.warning(
                "%s: record %d has no time under %r: such records are not held back; is the --time-column right?",
                self.name, record.position.ordinal, self._column,
            )  # fmt: skip

    def fileno(self) -> int | None:
        """What to wait on, while nothing waits here."""
        return None if self._waiting else self._source.fileno()

    def delay(self) -> float:
        """Until the next record is due."""
        return max(0.0, self._until(self._waiting[0])) if self._waiting else self._source.delay()

    def close(self) -> None:
        """Close the source."""
        self._source.close()
