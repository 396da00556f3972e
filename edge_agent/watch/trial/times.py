"""How fast records come, and whether their clock counts seconds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

# Seconds since 1970 have ten digits; a larger unit would lie thousands of years ahead.
_UNITS = ((1e17, "nanoseconds", 1e9), (1e14, "microseconds", 1e6), (1e11, "milliseconds", 1e3))


def clock(times: Sequence[float]) -> tuple[str, float] | None:
    """The unit of a clock that does not count seconds, and how many of it are one.

    >>> clock([1.7e12, 1.7e12 + 20]), clock([1.7e9, 1.7e9 + 1]), clock([0.0, 0.02])
    (('milliseconds', 1000.0), None, None)
    """
    if not times:
        return None
    middle = median(times)
    return next(((name, by) for above, name, by in _UNITS if middle >= above), None)


def per_hour(times: Sequence[float]) -> float | None:
    """Records per hour, from their times in seconds; None if nobody knows.

    >>> per_hour([0.0, 60.0, 120.0])
    60.0
    """
    if len(times) < 2 or times[-1] <= times[0]:
        return None
    return 3600.0 * (len(times) - 1) / (times[-1] - times[0])
