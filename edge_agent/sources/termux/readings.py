"""Objects of `termux-sensor` to readings of two sensors, with a date each.

There is no time in the output: an object is dated when it arrives. Of several that arrive at once,
because something has held them up, each is dated one delay before the next: the app waits at least
so long between two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

DELAY_SECONDS = 0.01  # between two objects: two for each cell of the grid
_APART_SECONDS = 0.001  # at least, as long as the clock does not go back

Triple = tuple[float, float, float]


class Reading(NamedTuple):
    """Both sensors at one time: seconds since the epoch, m/s^2, rad/s."""

    time: float
    acc: Triple
    gyro: Triple


class Dating:
    """Dates objects as they come, and picks two sensors out of them by parts of their names."""

    def __init__(self, names: tuple[str, str], clock: Callable[[], float]) -> None:
        self._names = names
        self._clock = clock
        self._last = 0.0

    def readings(self, objects: Sequence[dict[str, Any]]) -> list[Reading]:
        """Those of the objects that have both sensors; the first ones of a run may lack one."""
        now = self._clock()
        readings = []
        for waited, found in zip(range(len(objects) - 1, -1, -1), objects, strict=True):
            date = now - waited * DELAY_SECONDS
            if self._last <= now:
                date = min(now, max(date, self._last + _APART_SECONDS))
            self._last = date
            acc, gyro = (triple(found, name) for name in self._names)
            if acc is not None and gyro is not None:
                readings.append(Reading(date, acc, gyro))
        return readings


def triple(found: dict[str, Any], name: str) -> Triple | None:
    """The three axes of the sensor whose name has this part, the shortest one as the app does it.

    >>> triple({"LSM6DSO Gyroscope": {"values": [0.25, 0, -1]}}, "gyro")
    (0.25, 0.0, -1.0)
    """
    matching = sorted((key for key in found if name.lower() in key.lower()), key=len)
    try:
        x, y, z = found[matching[0]]["values"][:3]
        return float(x), float(y), float(z)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError):
        return None


def rate(readings: Sequence[Reading], of: Callable[[Reading], Triple]) -> float:
    """How often a second a sensor has given something new."""
    values = [of(reading) for reading in readings]
    changes = sum(a != b for a, b in pairwise(values))
    return changes / max(readings[-1].time - readings[0].time, DELAY_SECONDS)
