"""`termux:ACCELEROMETER+GYROSCOPE`: the motion sensors of this phone, with Termux and Termux:API.

The names are parts of those that `termux-sensor -l` lists; `termux:accelerometer+gyroscope` fits
most phones. Nothing leaves the phone but what leaves every agent. How to set a phone up, and what
was not tried on one, is in docs/termux.md.

A reading is printed again until the next one comes, and dated when it arrives, so that it may stand
on both sides of a border of windows, and thus in three of them. One that is given for longer than
0.125 s makes every window null in which it is for so long, whatever it reads: it counts in two at
most, that of its beginning and that of its end. So `unit_records` is 3 (docs/privacy.md).
"""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np

from edge_agent.errors import SourceError
from edge_agent.signal.grid import RATE, unit_records
from edge_agent.signal.track import MAX_SAME_SECONDS
from edge_agent.sources.base import Options
from edge_agent.sources.samples import STANDARD_GRAVITY, Samples, ranges
from edge_agent.sources.tally import Tally
from edge_agent.sources.termux.command import PROGRAM
from edge_agent.sources.termux.watcher import Watcher
from edge_agent.sources.windowed import SignalSource

LOOK_SECONDS = 0.25  # between two looks at what has been collected


def open_termux(rest: str, options: Options) -> SignalSource:
    """The sensors of this phone."""
    scales = ranges(f"termux:{rest}", options)
    source = SignalSource(TermuxReader(rest), *scales)
    source.unit_records = unit_records(lasts=MAX_SAME_SECONDS * RATE)
    return source


class TermuxReader:
    """Samples of the phone's own sensors, also after they were silent."""

    replayable = False
    ended = False

    def __init__(self, rest: str) -> None:
        self.name = f"termux:{rest}"
        acc, plus, gyro = rest.partition("+")
        if not acc or not plus or not gyro or "," in rest:
            raise SourceError(
                f"source {self.name}: write termux:accelerometer+gyroscope, "
                "or parts of the names that `termux-sensor -l` lists"
            )
        if shutil.which(PROGRAM) is None:
            raise SourceError(
                f"source {self.name}: there is no {PROGRAM} here; in Termux on a phone: "
                "pkg install termux-api, and install the app Termux:API from F-Droid"
            )
        self.tally = Tally(self.name)
        self._watcher = Watcher((acc, gyro))

    def start(self, cursor: Any) -> None:
        """Begin to listen."""
        self._watcher.start()

    def read(self) -> list[Samples]:
        """What has been collected."""
        told = self._watcher.told
        while told:
            what, which = told.popleft()
            self.tally.add(what, where=which)
        waiting = self._watcher.readings
        taken = [waiting.popleft() for _ in range(len(waiting))]
        if not taken:
            return []
        times, acc, gyro = (np.array(column) for column in zip(*taken, strict=True))
        return [Samples(times=times, acc=acc / STANDARD_GRAVITY, gyro=gyro)]

    def fileno(self) -> int | None:
        """A thread listens: it is looked at from time to time."""
        return None

    def delay(self) -> float:
        """Until the next look."""
        return LOOK_SECONDS

    def close(self) -> None:
        """Stop listening, and let go of the sensors."""
        self._watcher.close()
