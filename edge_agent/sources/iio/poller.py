"""Reading sysfs a hundred times a second, where no buffer is switched on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from edge_agent.signal.grid import HOP, RATE, block_of
from edge_agent.sources.iio.sensor import Sensor
from edge_agent.sources.samples import Samples
from edge_agent.sources.tally import Tally
from fsir.arrays import Matrix

PERIOD_SECONDS = 0.01  # between two readings of sysfs ...
# ... and at least, after one that was late: there is nothing to catch up, those times are gone.
REST_SECONDS = 0.002
# Between two conversions the chip gives the last one again, for 20 ms at 50 a second. Each must be
# in one block of 1.28 s only, or it would be in three windows: what is read so soon after a border
# may be from before it.
HOLD_SECONDS = 0.025
MOST_COLLECTED = 2000  # readings, 20 s: more are lost if the agent is busy for longer
FAILED = "readings failed"


class Poller:
    """Reads sysfs from a thread of its own: a slow disk must not make a gap in the signal."""

    def __init__(
        self,
        sensors: tuple[Sensor, Sensor],
        tally: Tally,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sensors = sensors
        self._tally = tally
        self._clock = clock
        self._steady = steady
        self._collected: deque[tuple[float, Matrix, Matrix]] = deque(maxlen=MOST_COLLECTED)
        self._failures: deque[str] = deque(maxlen=MOST_COLLECTED)
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self.run, name=f"{tally.name} reader", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def run(self) -> None:
        """Take readings until `close`."""
        due = self._steady()
        while not self._leaving.wait(max(0.0, due - self._steady())):
            self.take()
            due = max(due + PERIOD_SECONDS, self._steady() + REST_SECONDS)

    def take(self) -> None:
        """One reading of both sensors, at the time in the middle."""
        begun = self._clock()
        try:
            acc, gyro = (sensor.read() for sensor in self._sensors)
        except OSError as error:  # busy, or gone
            self._failures.append(error.strerror or "unreadable")
        except ValueError:
            self._failures.append("not a number")
        else:
            middle = (begun + self._clock()) / 2
            if begun - block_of(middle) * HOP / RATE >= HOLD_SECONDS:
                self._collected.append((middle, acc, gyro))

    def read(self) -> list[Samples]:
        """What has been collected since the last call."""
        while self._failures:
            self._tally.add(f"{FAILED} ({self._failures.popleft()})")
        taken = [self._collected.popleft() for _ in range(len(self._collected))]
        if not taken:
            return []
        times, acc, gyro = (np.array(column) for column in zip(*taken, strict=True))
        return [Samples(times=times, acc=acc, gyro=gyro)]

    def check(self) -> None:
        """OSError if the device is another one, or has another scale."""
        for sensor in self._sensors:
            sensor.check()

    def close(self) -> None:
        """Stop the thread."""
        self._leaving.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)
        # Else it hangs in a reading, of a descriptor that must not become another's.
        if not self._thread.is_alive():
            for sensor in self._sensors:
                sensor.close()
