"""Records wait here for their label: a person presses the button after having begun.

A record is used at once, but learned only `delay` seconds after it ended (or arrived, if its clock
is ahead of ours): then the label that held over all of it is known, or it has none. A record that
brings its own label does not wait, except behind others: records leave in the order in which they
came, because their positions must rise.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from edge_agent.errors import SourceError
from edge_agent.labels.tail import Tail
from edge_agent.labels.timeline import NO_LABEL
from edge_agent.records import Record

if TYPE_CHECKING:
    from edge_agent.labels.topic import LabelTopic

log = logging.getLogger("fsir.labels")
DELAY_SECONDS = 5.0
LONGEST_QUEUE = 2000  # records
Span = tuple[float, float]


class _Waiting(NamedTuple):
    """A record in the queue."""

    record: Record
    span: Span | None  # for which it needs a label; None: it does not
    due: float  # when its label is decided


class Labelling:
    """The queue between a source and the learners. `owned`: the record brings its own label.

    tail: where labels are read; without one every record is learned as it is.
    pressed: records without a time of their own take labels too, at the time of their arrival or of
    `time_column`; without it only records that say which time they cover do.
    """

    def __init__(
        self,
        tail: Tail | None = None,
        delay: float = DELAY_SECONDS,
        *,
        pressed: bool = False,
        replayable: bool = False,
        time_column: str | None = None,
        topic: LabelTopic | None = None,
        clock: Callable[[], float] = time.time,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tail = tail
        self._delay = delay
        self._pressed = pressed
        self._replayable = replayable
        self._time_column = time_column
        self._subscription = None if topic is None else topic.subscription
        self._clock = clock
        self._now = now
        self._queue: deque[_Waiting] = deque()
        self._late = 0
        self._reminded = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def full(self) -> bool:
        """Whether a source that can wait should."""
        return len(self._queue) >= LONGEST_QUEUE

    def add(self, record: Record, owned: bool) -> None:
        """One more record; it comes out of `decided` in its turn."""
        span = None if owned else self._span(record)
        wait = 0.0 if span is None else self._delay + min(0.0, span[1] - self._clock())
        self._queue.append(_Waiting(record, span, self._now() + max(0.0, wait)))

    def _span(self, record: Record) -> Span | None:
        """The time for which a record needs a label; None if it is not to get one."""
        if self._tail is None:
            return None
        if record.span is not None:
            return record.span
        if not self._pressed:
            self._remind(self._tail)
            return None
        if self._time_column is None and self._replayable:
            raise SourceError(
                f"record {record.position.ordinal} does not say when it was made: --labels needs "
                "times; name the column that has them with --time-column, "
                "or let the records bring their labels"
            )
        made = self._made(record)
        return made, made

    def _made(self, record: Record) -> float:
        """When a record that says so in its time column, or not at all, was made."""
        if self._time_column is not None:
            from edge_agent.sources.paced import seconds_of

            made = seconds_of(record.x.get(self._time_column))
            if made is not None:
                return made
        # One broken line of a file: never labelled.
        return -math.inf if self._replayable else self._clock()

    def _remind(self, tail: Tail) -> None:
        """Once: whoever presses a button should know if nobody listens."""
        if not self._reminded and tail.exists():
            log.warning(
                "there are labels, but these records are not to get them: run with --labels press"
            )
            self._reminded = True

    def decided(self) -> Record | None:
        """Take the oldest record, with its label, if that is decided."""
        now = self._now()
        if not self._queue or (self._queue[0].due > now and len(self._queue) <= LONGEST_QUEUE):
            return None
        record, span, due = self._queue.popleft()
        return record if span is None else replace(record, y=self._label(span, early=due > now))

    def _label(self, span: Span, early: bool) -> str:
        if not early and self._tail is not None:
            self._tail.refresh()
            return self._tail.timeline.over(*span)
        # Better none than one that the owner was about to correct.
        self._late += 1
        if self._late & (self._late - 1) == 0:  # at 1, 2, 4, 8, ...
            log.warning(
                "%d records left without a label: too many wait; choose a shorter --label-delay",
                self._late,
            )
        return NO_LABEL

    # --- for the loop -----------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Handle labels that arrive as messages."""
        if self._subscription is not None:
            self._subscription.step(now)

    def due(self, now: float) -> float:
        """When to come back, by the clock that never goes back."""
        due_times = [self._queue[0].due] if self._queue else []
        if self._subscription is not None:
            due_times.append(self._subscription.next_due(now))
        return min(due_times, default=math.inf)

    def readers(self) -> list[int]:
        """What to wait on for labels."""
        descriptor = None if self._subscription is None else self._subscription.fileno()
        return [] if descriptor is None else [descriptor]

    def close(self) -> None:
        """Disconnect."""
        if self._subscription is not None:
            self._subscription.close()
