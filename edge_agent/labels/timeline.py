"""What the owner was doing when: label events on a time line, and the label that holds over a whole record.

An event says "from this time on the activity is ...", until the next event or until it expires; an empty label says
"not known from here on". A record over a change of label has no clear one, and gets none.

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
from dataclasses import dataclass

EXPIRES = 1800.0  # seconds after which a label is no longer believed: a forgotten button must not label the night
NO_LABEL = ""  # of a time at which nobody said anything, or more than one thing
LONGEST = 200  # characters of a label
REMEMBERED = 2000  # events; older ones are forgotten
DAY = 86400.0
AHEAD = DAY  # seconds by which a label may begin in the future: clocks differ, but a later one has another unit
LASTS = 30 * DAY  # the longest stay


@dataclass(frozen=True, order=True)
class Event:
    """From `time` on and before `until` (seconds since the epoch) the activity is `label`."""

    time: float
    label: str
    until: float

    def encode(self) -> bytes:
        """One line of JSON."""
        return (
            json.dumps({"time": self.time, "label": self.label, "until": self.until}).encode()
            + b"\n"
        )

    @classmethod
    def decode(cls, line: bytes) -> Event | None:
        """Read such a line; None if it is broken."""
        try:
            found = json.loads(line)
            event = cls(float(found["time"]), found["label"], float(found["until"]))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None
        sound = (
            math.isfinite(event.time)
            and math.isfinite(event.until)
            and isinstance(event.label, str)
        )
        return event if sound and len(event.label) <= LONGEST else None


class Timeline:
    """Events in the order of their times; of two at the same time the one that was added later holds."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, event: Event, now: float = math.inf) -> None:
        """One more event, at any time; where too many are known, those that begin long after `now` go first."""
        insort(self._events, event, key=lambda other: other.time)
        while len(self._events) > REMEMBERED:
            del self._events[-1 if self._events[-1].time > now + AHEAD else 0]

    def over(self, first: float, last: float) -> str:
        """The label that holds from `first` to `last`, both included; empty if there is none, or more than one."""
        events, at = self._events, self._last_until(first)
        label = events[at].label if at >= 0 else NO_LABEL
        while at >= 0 and label and events[at].label == label:
            following = events[at + 1].time if at + 1 < len(events) else math.inf
            if last < min(events[at].until, following):
                return label
            if events[at].until < following:
                break  # expired before anybody said it again
            at = self._last_until(following)
        return NO_LABEL

    def _last_until(self, time: float) -> int:
        return bisect_right(self._events, time, key=lambda event: event.time) - 1
