"""The readings in a message of the app "Sensor Logger" that matter, one by one.

    totalacceleration     with gravity, m/s^2; Android only, along with the accelerometer
    accelerometer         without gravity, m/s^2 ...
    gravity               ... which is then added, from the reading with the same time
    gyroscope             rad/s
Signs are those of Android: on an iPhone the setting "Standardise Units & Frames" brings them about.
Nobody can tell from the data whether it is on.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

from edge_agent.sources.tally import Tally

TOTAL = "totalacceleration"
BODY = "accelerometer"
GRAVITY = "gravity"
ROTATION = "gyroscope"
EARLIEST_NS = 978_307_200 * 10**9  # the year 2001; today in microseconds is 1970
# By which a phone's clock may be ahead of this machine's: more than a wrong time zone.
AHEAD_SECONDS = 86_400.0

NONSENSE = "readings dropped: without a time"
UNIT = (
    "readings dropped: dated before 2001; "
    "times must be in nanoseconds since 1970, not in s, ms or us"
)
FUTURE = (
    "readings dropped: dated more than a day ahead of this machine's clock; "
    "set both clocks by the network"
)
AGAIN = "readings dropped: the same sensor has another one with the same time in the same message"

Vector = tuple[float, float, float]


class Reading(NamedTuple):
    """One reading of one sensor."""

    name: str  # of the sensor, in the app
    instant: int  # nanoseconds since the epoch
    vector: Vector


def readings(payload: list[Any], clock: float, tally: Tally) -> list[Reading]:
    """Those of a message that matter; clock: seconds since the epoch, of this machine."""
    kept: dict[tuple[str, int], Reading] = {}
    latest = (clock + AHEAD_SECONDS) * 1e9
    for entry in payload:
        name = entry.get("name") if isinstance(entry, dict) else None
        if name not in (TOTAL, BODY, GRAVITY, ROTATION):
            continue
        try:
            instant = int(entry["time"])
        except (KeyError, TypeError, ValueError, OverflowError):
            tally.add(NONSENSE)
            continue
        if instant < EARLIEST_NS:
            tally.add(UNIT)
        elif instant > latest:  # one window from the future would make all others stale until then
            here = time.strftime("%Y-%m-%d %H:%M", time.gmtime(clock))
            tally.add(FUTURE, where=f"here it is {here} UTC")
        elif (name, instant) in kept:
            tally.add(AGAIN)
        else:
            kept[name, instant] = Reading(name, instant, _vector(entry.get("values")))
    return list(kept.values())


def _vector(values: Any) -> Vector:
    """Three numbers.

    A reading without them keeps its place in time: its windows are dropped, and no others.
    """
    try:
        return float(values["x"]), float(values["y"]), float(values["z"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return math.nan, math.nan, math.nan
