"""Readings of the app "Sensor Logger" to samples, each stream in its order of arrival.

    totalacceleration     with gravity, m/s^2; Android only, where it comes along with the accelerometer
    accelerometer         without gravity, m/s^2 ...
    gravity               ... which is then added, from the reading with the same time
    gyroscope             rad/s
Signs are those of Android: on an iPhone the setting "Standardise Units & Frames" brings them about. Nobody can tell
from the data whether it is on.

Which acceleration counts is decided anew for each block of 1.28 s, the step from window to window: where there is a
total, the sums are left aside. The windows that hold a block are those that hold any reading in it, so a stray reading
costs its own two windows and no other.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from edge_agent.signal.track import RATE
from edge_agent.signal.windows import HOP
from edge_agent.sources.tally import Tally
from edge_agent.sources.windowed import STANDARD_GRAVITY, Samples

Vector = tuple[float, float, float]
Reading = tuple[str, int, Vector]  # stream, nanoseconds since the epoch, values
Stream = list[tuple[int, Vector]]

TOTAL, BODY, GRAVITY, ROTATION = "totalacceleration", "accelerometer", "gravity", "gyroscope"
BLOCK = round(HOP / RATE * 1e9)  # ns
EARLIEST = 978_307_200 * 10**9  # ns: the year 2001; today in microseconds is 1970
AHEAD = 86_400.0  # seconds by which a phone's clock may be ahead of this machine's: more than a wrong time zone
WAIT = 2.0  # seconds for which a reading waits for its gravity, or the other way round ...
PENDING = 4096  # ... unless so many come after it
TOGETHER = 10**8  # ns within which all sensors notice that the phone's clock has stepped back
MISSED = 10  # blocks, 10 s at least, with one sensor and not the other: then that one is off, and not just late
BLOCKS = 16  # for so many it is remembered that they have a total acceleration

NONSENSE = "readings dropped: without a time"
UNIT = "readings dropped: dated before 2001; times must be in nanoseconds since 1970, not in s, ms or us"
FUTURE = "readings dropped: dated more than a day ahead of this machine's clock; set both clocks by the network"
AGAIN = "readings dropped: the same sensor has another one with the same time in the same message"
LONELY = "readings dropped: accelerometer and gravity without the other one at the same time; switch on both in the app"
NO_ROTATION = "sessions with 10 s of acceleration and no rotation: switch on Gyroscope in the app"
NO_ACCELERATION = "sessions with 10 s of rotation and no acceleration: switch on Accelerometer and Gravity in the app"
ASIDE = "readings left aside: accelerometer and gravity, where the phone gives the total acceleration (Android)"


def readings(payload: list[Any], clock: float, tally: Tally) -> list[Reading]:
    """Those of a message that matter; clock: seconds since the epoch, of this machine."""
    found: dict[tuple[str, int], Vector] = {}
    latest = (clock + AHEAD) * 1e9
    for entry in payload:
        name = entry.get("name") if isinstance(entry, dict) else None
        if name not in (TOTAL, BODY, GRAVITY, ROTATION):
            continue
        try:
            moment = int(entry["time"])
        except (KeyError, TypeError, ValueError, OverflowError):
            tally.add(NONSENSE)
            continue
        vector = _vector(entry.get("values"))
        if moment < EARLIEST:
            tally.add(UNIT)
        elif moment > latest:  # one window from the future would make all others stale until then
            tally.add(
                FUTURE,
                where=f"here it is {time.strftime('%Y-%m-%d %H:%M', time.gmtime(clock))} UTC",
            )
        elif (name, moment) in found:
            tally.add(AGAIN)
        else:
            found[name, moment] = vector
    return [(name, moment, vector) for (name, moment), vector in found.items()]


def _vector(values: Any) -> Vector:
    """Three numbers. A reading without them keeps its place in time: its windows are dropped, and no others."""
    try:
        return float(values["x"]), float(values["y"]), float(values["z"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return math.nan, math.nan, math.nan


class Motion:
    """The readings of one recording session, message by message."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._last = [-1, -1, -1]
        self._totals: deque[int] = deque(maxlen=BLOCKS)  # blocks with a total acceleration
        # time -> values and arrival; in order of arrival, which no reading can change for another one
        self._pending: dict[str, dict[int, tuple[Vector, float]]] = {BODY: {}, GRAVITY: {}}
        self._turns: set[bool] = (
            set()
        )  # whether the readings of the latest message are rotations: yes, no, or both
        self._alone: set[int] = set()  # blocks with one of them, since the other one was there
        self._missed = False

    def samples(self, message: list[Reading], now: float) -> list[Samples]:
        """What a message completes."""
        self._look_for_both(message)
        blocks = dict.fromkeys(moment // BLOCK for name, moment, _ in message if name == TOTAL)
        with_total = {*self._totals, *blocks}
        self._totals.extend(block for block in blocks if block not in self._totals)
        streams: dict[str, Stream] = {TOTAL: [], BODY: [], ROTATION: []}
        for name, moment, vector in message:
            if name in (TOTAL, ROTATION):
                streams[name].append((moment, vector))
            elif moment // BLOCK in with_total:
                self._tally.add(ASIDE)
            elif (whole := self._sum(name, moment, vector, now)) is not None:
                streams[BODY].append((moment, whole))
        self._give_up(now - WAIT, PENDING)
        return _side_by_side(list(streams.values()), self._last)

    def end(self) -> None:
        """Nothing more will come."""
        self._give_up(np.inf, 0)

    def _look_for_both(self, message: list[Reading]) -> None:
        """Say, once, which sensor is off in the app: the windows would only tell that samples are missing.

        By whole messages, because in one of them a sensor may follow the other.
        """
        turns = {name == ROTATION for name, _, _ in message}
        if self._missed or not turns:
            return
        if turns != self._turns:
            self._turns, self._alone = turns, set()
        if len(turns) == 1:
            self._alone.update(moment // BLOCK for _, moment, _ in message)
            if len(self._alone) >= MISSED:
                self._missed = True
                self._tally.add(NO_ACCELERATION if True in turns else NO_ROTATION)

    def _sum(self, name: str, moment: int, vector: Vector, now: float) -> Vector | None:
        """With the reading of the same time: one of a neighbour in time would put one sample into more windows."""
        other = self._pending[GRAVITY if name == BODY else BODY].pop(moment, None)
        if other is None:
            self._pending[name].setdefault(moment, (vector, now))
            return None
        (a, b, c), ((d, e, f), _) = vector, other
        return a + d, b + e, c + f

    def _give_up(self, before: float, keep: int) -> None:
        for waiting in self._pending.values():
            while waiting:
                moment, (_, arrived) = next(iter(waiting.items()))
                if arrived >= before and len(waiting) <= keep:
                    break
                del waiting[moment]
                self._tally.add(ASIDE if moment // BLOCK in self._totals else LONELY)


def _side_by_side(streams: Sequence[Stream], last: list[int]) -> list[Samples]:
    """Streams, the last one of which is the gyroscope, in pieces that put none far ahead of another.

    Where a clock steps back, they step back together: whatever arrived before the step goes before it.
    last: how far each stream had got before; brought up to date.
    """
    placed: list[
        tuple[int, int, int, int, Vector]
    ] = []  # steps so far, block, stream; time and values
    at, steps, limit = [0] * len(streams), 0, -1

    def reach(stream: int) -> int:
        """How far its next reading gets; if a stray one is far ahead of its neighbours, no further than they."""
        moment, *after = (moment for moment, _ in streams[stream][at[stream] : at[stream] + 2])
        return max(last[stream], after[0]) if after and moment > after[0] + BLOCK else moment

    while left := [k for k in range(len(streams)) if at[k] < len(streams[k])]:
        rising = [k for k in left if streams[k][at[k]][0] >= last[k]]
        falling = [k for k in left if k not in rising]
        first = min(rising, key=reach, default=None)
        if falling and first is not None and limit < 0:
            limit = reach(first) + TOGETHER
        if first is None or (falling and reach(first) > limit):
            steps, limit = steps + 1, -1
            for k in falling:
                last[k] = -1
        else:
            last[first] = reach(first)
            placed.append((steps, last[first] // BLOCK, first, *streams[first][at[first]]))
            at[first] += 1
    placed.sort(
        key=lambda one: one[:3]
    )  # stable: readings of a stream stay in their order of arrival
    found = []
    for (_, _, stream), group in groupby(placed, key=lambda one: one[:3]):
        part = list(group)
        times, values = np.array([one[3] / 1e9 for one in part]), np.array([one[4] for one in part])
        rotation = stream == len(streams) - 1
        found.append(
            Samples(times, gyro=values) if rotation else Samples(times, values / STANDARD_GRAVITY)
        )
    return found
