"""Readings of the app "Sensor Logger" to samples: which acceleration counts.

That is decided anew for each block of 1.28 s, the step from window to window: where there is a
total, the sums are left aside. The windows that hold a block are those that hold any reading in it,
so a stray reading costs its own two windows and no other.
"""

from __future__ import annotations

import math
from collections import deque

from edge_agent.sources.phone.order import BLOCK_NS, Reached, Stream, side_by_side
from edge_agent.sources.phone.readings import BODY, GRAVITY, ROTATION, TOTAL, Reading, Vector
from edge_agent.sources.samples import Samples
from edge_agent.sources.tally import Tally

WAIT_SECONDS = 2.0  # for which a reading waits for its gravity, or the other way round ...
MOST_PENDING = 4096  # ... unless so many come after it
# With one sensor and not the other, 10 s at least: then that one is off, and not just late.
MISSED_BLOCKS = 10
REMEMBERED_BLOCKS = 16  # for which it is known that they have a total acceleration

LONELY = (
    "readings dropped: accelerometer and gravity without the other one at the same time; "
    "switch on both in the app"
)
NO_ROTATION = "sessions with 10 s of acceleration and no rotation: switch on Gyroscope in the app"
NO_ACCELERATION = (
    "sessions with 10 s of rotation and no acceleration: "
    "switch on Accelerometer and Gravity in the app"
)
ASIDE = (
    "readings left aside: accelerometer and gravity, "
    "where the phone gives the total acceleration (Android)"
)


class Motion:
    """The readings of one recording session, message by message."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._reached = Reached(3)
        self._totals: deque[int] = deque(maxlen=REMEMBERED_BLOCKS)  # with a total acceleration
        # instant -> values and arrival; in order of arrival, which no reading can change for
        # another one
        self._pending: dict[str, dict[int, tuple[Vector, float]]] = {BODY: {}, GRAVITY: {}}
        # Whether the readings of the latest message are rotations: yes, no, or both.
        self._turns: set[bool] = set()
        self._alone: set[int] = set()  # blocks with one of them, since the other one was there
        self._missed = False

    def samples(self, message: list[Reading], now: float) -> list[Samples]:
        """What a message completes."""
        self._look_for_both(message)
        blocks = dict.fromkeys(
            reading.instant // BLOCK_NS for reading in message if reading.name == TOTAL
        )
        with_total = {*self._totals, *blocks}
        self._totals.extend(block for block in blocks if block not in self._totals)
        streams: dict[str, Stream] = {TOTAL: [], BODY: [], ROTATION: []}
        for reading in message:
            if reading.name in (TOTAL, ROTATION):
                streams[reading.name].append((reading.instant, reading.vector))
            elif reading.instant // BLOCK_NS in with_total:
                self._tally.add(ASIDE)
            elif (whole := self._sum(reading, now)) is not None:
                streams[BODY].append((reading.instant, whole))
        self._give_up(now - WAIT_SECONDS, MOST_PENDING)
        return side_by_side(list(streams.values()), self._reached)

    def end(self) -> None:
        """Nothing more will come."""
        self._give_up(math.inf, 0)

    def _look_for_both(self, message: list[Reading]) -> None:
        """Say, once, which sensor is off in the app.

        The windows would only tell that samples are missing. By whole messages, because in one of
        them a sensor may follow the other.
        """
        turns = {reading.name == ROTATION for reading in message}
        if self._missed or not turns:
            return
        if turns != self._turns:
            self._turns = turns
            self._alone = set()
        if len(turns) == 1:
            self._alone.update(reading.instant // BLOCK_NS for reading in message)
            if len(self._alone) >= MISSED_BLOCKS:
                self._missed = True
                self._tally.add(NO_ACCELERATION if True in turns else NO_ROTATION)

    def _sum(self, reading: Reading, now: float) -> Vector | None:
        """With the reading of the same time.

        One of a neighbour in time would put one sample into more windows.
        """
        others = self._pending[GRAVITY if reading.name == BODY else BODY]
        other = others.pop(reading.instant, None)
        if other is None:
            self._pending[reading.name].setdefault(reading.instant, (reading.vector, now))
            return None
        a, b, c = reading.vector
        d, e, f = other[0]
        return a + d, b + e, c + f

    def _give_up(self, before: float, keep: int) -> None:
        for waiting in self._pending.values():
            while waiting:
                instant, (_, arrived) = next(iter(waiting.items()))
                if arrived >= before and len(waiting) <= keep:
                    break
                del waiting[instant]
                self._tally.add(ASIDE if instant // BLOCK_NS in self._totals else LONELY)
