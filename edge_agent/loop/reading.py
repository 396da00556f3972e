"""Some records of a source, read and left as they are."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator

from edge_agent.records import START, Record
from edge_agent.sources.base import Source

_AT_ONCE = 16
_LONGEST_WAIT_SECONDS = 1.0


def some_records(source: Source, most: int, seconds: float) -> Iterator[tuple[Record, float]]:
    """Up to so many records from the beginning, or of so many seconds, and when each one came.

    Nothing is remembered of it.
    """
    source.resume(START)
    until = time.monotonic() + seconds
    left = most
    while left and not source.ended and (now := time.monotonic()) < until:
        records = source.poll(min(left, _AT_ONCE))
        left -= len(records)
        arrived = time.time()
        yield from ((record, arrived) for record in records)
        if not records:
            _wait(source.fileno(), min(source.delay(), until - now, _LONGEST_WAIT_SECONDS))


def _wait(descriptor: int | None, seconds: float) -> None:
    readers = [] if descriptor is None else [descriptor]
    select.select(readers, [], [], max(0.0, seconds))
