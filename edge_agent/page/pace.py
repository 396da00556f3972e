"""When a report is due: from how fast records came in while somebody watched."""

from __future__ import annotations

import math
from collections import deque

KEPT_SECONDS = 86400.0
APART_SECONDS = 60.0  # points that are kept; the newest moves on until then
_UNITS = (("second", 1, 90), ("minute", 60, 90), ("hour", 3600, 48), ("day", 86400, math.inf))
ENOUGH_SECONDS = 20.0  # of watching before a pace is believed


class Pace:
    """The records of one report, as they were seen to become more.

    >>> pace = Pace()
    >>> for minute in range(11):
    ...     pace.see(100 + 3 * minute, now=60.0 * minute)
    >>> pace.seconds_until(190, now=600.0), pace.watched(now=600.0)
    (1200.0, 600.0)
    """

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque()

    def see(self, n: int, now: float) -> None:
        """So many records by now."""
        points = self._points
        if points and n < points[-1][1]:
            points.clear()  # another report
        if len(points) > 1 and now - points[-2][0] < APART_SECONDS:
            points.pop()
        points.append((now, n))
        while now - points[0][0] > KEPT_SECONDS:
            points.popleft()

    def watched(self, now: float) -> float:
        """Seconds over which the pace was seen."""
        return now - self._points[0][0] if self._points else 0.0

    def seconds_until(self, n: int, now: float) -> float | None:
        """How long it takes at this pace; None where it is not known."""
        if self.watched(now) < ENOUGH_SECONDS:
            return None
        first = self._points[0][1]
        last = self._points[-1][1]
        if last == first:
            return None
        return (n - last) * self.watched(now) / (last - first)


def duration(seconds: float) -> str:
    """A length of time in words.

    >>> [duration(s) for s in (1, 50, 100, 3000, 6000, 100_000, 2_000_000)]
    ['1 second', '50 seconds', '2 minutes', '50 minutes', '2 hours', '28 hours', '23 days']
    """
    unit, size = next((unit, size) for unit, size, most in _UNITS if seconds < most * size)
    count = round(seconds / size)
    return f"{count} {unit}{'' if count == 1 else 's'}"
