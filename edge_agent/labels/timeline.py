"""What the owner was doing when: label events on a time line, and the label of a whole record.

An event says "from this time on the activity is ...", until the next event or until it expires; an
empty label says "not known from here on". A record over a change of label has no clear one, and
gets none.

    >>> day = Timeline()
    >>> day.add(Event(100.0, "walking", until=200.0))
    >>> day.add(Event(150.0, "sitting", until=180.0))
    >>> [day.over(first, first + 2.56) for first in (99.0, 120.0, 149.0, 150.0, 178.0)]
    ['', 'walking', '', 'sitting', '']
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right, insort
from typing import NamedTuple

# After which a label is no longer believed: a forgotten button must not label the night.
EXPIRES_SECONDS = 1800.0
NO_LABEL = ""  # of a time at which nobody said anything, or more than one thing
LONGEST_LABEL = 200  # characters
REMEMBERED = 2000  # events; older ones are forgotten
DAY_SECONDS = 86400.0
# By which a label may begin in the future: clocks differ, but a later one has another unit.
AHEAD_SECONDS = DAY_SECONDS
LASTS_SECONDS = 30 * DAY_SECONDS  # the longest stay


class Event(NamedTuple):
    """From `time` on and before `until` (seconds since the epoch) the activity is `label`."""

    time: float
    label: str
    until: float

    def encode(self) -> bytes:
        """One line of JSON."""
        table = {"time": self.time, "label": self.label, "until": self.until}
        return json.dumps(table).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> Event | None:
        """Read such a line; None if it is broken."""
        try:
            table = json.loads(line)
            event = cls(float(table["time"]), table["label"], float(table["until"]))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None
        finite = math.isfinite(event.time) and math.isfinite(event.until)
        sound = isinstance(event.label, str) and len(event.label) <= LONGEST_LABEL
        return event if finite and sound else None


class Timeline:
    """Events in the order of their times; of two at the same time the one added later holds."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, event: Event, now: float = math.inf) -> None:
        """One more event, at any time.

        Where too many are known, those that begin long after `now` go first.
        """
        insort(self._events, event, key=lambda other: other.time)
        while len(self._events) > REMEMBERED:
            del self._events[-1 if self._events[-1].time > now + AHEAD_SECONDS else 0]

    def over(self, first: float, last: float) -> str:
        """The label that holds from `first` to `last`, both included.

        Empty if there is none, or more than one.
        """
        events = self._events
        at = self._last_until(first)
        label = events[at].label if at >= 0 else NO_LABEL
        while at >= 0 and label and events[at].label == label:
            following = events[at + 1].time if at + 1 < len(events) else math.inf
            if last < min(events[at].until, following):
                return label
            if events[at].until < following:
                break  # expired before anybody said it again
            at = self._last_until(following)
        return NO_LABEL

    def at(self, time: float) -> Event | None:
        """The event that holds at a time; None if no label does."""
        at = self._last_until(time)
        event = self._events[at] if at >= 0 else None
        return event if event is not None and event.label and time < event.until else None

    def _last_until(self, time: float) -> int:
        return bisect_right(self._events, time, key=lambda event: event.time) - 1
