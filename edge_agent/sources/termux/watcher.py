"""A thread that keeps `termux-sensor` running, once it knows that the phone is fast enough.

Termux:API asks Android for readings at the pace of a screen (`SENSOR_DELAY_UI`, about 15 a second),
however often it prints, and prints the last one again until there is another: most phones give too
few, unless another app asks for more. Windows of 50 Hz need 45. So a short run comes first, and
again every ten minutes, in which changes are counted. Its readings are in no record, and for the
others the command starts anew, which clears its memory: whether there are records does not depend
on what is in them.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable

from edge_agent.sources.termux.command import Command
from edge_agent.sources.termux.objects import Objects
from edge_agent.sources.termux.readings import DELAY_SECONDS, Dating, Reading, rate
from fsir.errors import shown
from fsir.net.backoff import Delays

TRIAL_OBJECTS = 300
TRIAL_SECONDS = 60.0  # at most
TRIAL_AGAIN_SECONDS = 600.0
FEWEST_CHANGES = 40.0  # a second: two readings of 45 may well be the same
FIRST_SECONDS = 15.0  # for the app to start; where it is missing nothing ever comes
SILENCE_SECONDS = 5.0
AGAIN = Delays(first=5.0, longest=600.0)
MOST_COLLECTED = 4000  # readings, 40 s: more are lost if the agent is busy for longer
_LOOK_SECONDS = 0.2  # between two looks whether the agent leaves

MISSING = (
    "times nothing came from termux-sensor, which waits for the app Termux:API: install it from "
    "where Termux is from (F-Droid), open it once, and let no other termux-sensor run "
    "(termux-sensor -c)"
)
SILENT = (
    "times termux-sensor fell silent and was started anew; does the phone sleep? Run "
    "termux-wake-lock, and exempt Termux and Termux:API from battery optimisation"
)
ENDED = "times termux-sensor ended and was started anew"
UNKNOWN = "times termux-sensor knew no such sensor: `termux-sensor -l` names those of this phone"
NOT_BOTH = (
    "trials in vain: termux-sensor does not give readings of both sensors; `termux-sensor -l` "
    "names those of this phone, and Termux must have its notification: Android gives none to apps "
    "in the background"
)
SLOW = (
    "trials in vain: this phone gives too few readings a second, and 50 Hz windows need 45; "
    "let another app ask for more, or take sensorlogger: on this phone (docs/termux.md)"
)
GARBAGE = "lines of termux-sensor that are no readings"
_NO_SENSOR = "No valid sensors were registered"


class Watcher:
    """Collects readings of two sensors, by parts of their names, until it is closed."""

    def __init__(self, names: tuple[str, str], clock: Callable[[], float] = time.time) -> None:
        self._words = ("-s", ",".join(names), "-d", str(round(1000 * DELAY_SECONDS)))
        self._dating = Dating(names, clock)
        self.readings: deque[Reading] = deque(maxlen=MOST_COLLECTED)
        self.told: deque[tuple[str, str]] = deque(maxlen=MOST_COLLECTED)  # what, and which one
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self.run, name="termux-sensor", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and let go of the sensors."""
        self._leaving.set()
        if self._thread.is_alive():
            self._thread.join()

    def run(self) -> None:
        """Try, listen for ten minutes, and again, until `close`."""
        rng = random.SystemRandom()
        failures = 0
        while not self._leaving.is_set():
            if self._try() and self._listen(self.readings.append, TRIAL_AGAIN_SECONDS):
                failures = 0
            else:
                self._leaving.wait(AGAIN.after(failures, rng))
                failures += 1

    def _try(self) -> bool:
        """Whether the phone is fast enough, by readings that are used for nothing else."""
        seen: list[Reading] = []
        if not self._listen(seen.append, TRIAL_SECONDS, limit=TRIAL_OBJECTS):
            return False
        if len(seen) < TRIAL_OBJECTS // 2:
            self.told.append((NOT_BOTH, ""))
            return False
        acc = rate(seen, lambda reading: reading.acc)
        gyro = rate(seen, lambda reading: reading.gyro)
        if min(acc, gyro) >= FEWEST_CHANGES:
            return True
        self.told.append((SLOW, f"in the last one accelerometer {acc:.0f}, gyroscope {gyro:.0f}"))
        return False

    def _listen(
        self, take: Callable[[Reading], None], seconds: float, limit: int | None = None
    ) -> bool:
        """Hand over readings for so long, or until the limit; false if something went wrong."""
        words = self._words if limit is None else (*self._words, "-n", str(limit))
        try:
            command = Command(*words)
        except OSError as error:
            self.told.append((ENDED, error.strerror or ""))
            return False
        try:
            fault = self._hear(command, take, time.monotonic() + seconds)
        finally:
            command.stop()
        if fault == ENDED and limit is not None:
            return True
        if fault:
            self.told.append((fault, ""))
        return not fault and not self._leaving.is_set()

    def _hear(self, command: Command, take: Callable[[Reading], None], until: float) -> str:
        """Hand over readings until a time, or until something happens; returns what."""
        objects = Objects()
        silent = MISSING
        deadline = time.monotonic() + FIRST_SECONDS
        while not self._leaving.is_set() and (now := time.monotonic()) < until:
            chunk = command.read(_LOOK_SECONDS)
            found = objects.feed(chunk or b"")
            for reading in self._dating.readings(found):
                take(reading)
            if found:
                silent = SILENT
                deadline = now + SILENCE_SECONDS
            if self._is_unknown(objects.texts):
                return UNKNOWN
            if chunk == b"":
                return ENDED
            if now > deadline:
                return silent
        return ""

    def _is_unknown(self, texts: list[str]) -> bool:
        """Whether it has said that there is no such sensor; what else it says is told."""
        unknown = any(_NO_SENSOR in text for text in texts)
        if not unknown:
            self.told.extend((GARBAGE, f"the last one {shown(text)}") for text in texts)
        texts.clear()
        return unknown
