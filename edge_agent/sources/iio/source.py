"""`iio:DEVICE`: an accelerometer and a gyroscope of this device, through Linux IIO.

    iio:iio:device0                  a device by its place in /sys/bus/iio/devices
    iio:mpu6050                      by the text in its file `name` (or `label`)
    iio:lsm6dsl                      two devices, lsm6dsl_accel and lsm6dsl_gyro
    iio:bmc150_accel+bmg160          two devices of different names
    iio:/host/mpu6050                with sysfs and its devices at /host/sys and /host/dev, as in a container

Where the owner has switched on the buffers of the device, the kernel collects the samples with their times: best, and
with some drivers the only way (LSM6DS*, LSM9DS1: a single reading takes them three periods per axis). Else a thread
reads sysfs a hundred times a second, and a reading gets the time at which it was read: its jitter is that of the
scheduler and of the sensor's own period, a few milliseconds, which the windows undo. Readings that fail are counted,
and a device that goes away is looked for every second. If anyone changes its scale or the channels of its buffer, it
is opened anew: what was collected since the last look may be of either kind, and is dropped.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from edge_agent.errors import SourceError
from edge_agent.signal.track import RATE
from edge_agent.signal.windows import HOP, block_of
from edge_agent.sources.base import Options
from edge_agent.sources.iio.buffer import Buffers, buffered
from edge_agent.sources.iio.sensor import ACCELERATION, CLIPPED, ROTATION, Array, Sensor
from edge_agent.sources.tally import Tally
from edge_agent.sources.windowed import Samples, SignalSource

DEVICES, NODES = "sys/bus/iio/devices", "dev"  # below the root directory
PERIOD = 0.01  # seconds between two readings of sysfs ...
REST = 0.002  # ... and at least, after one that was late: there is nothing to catch up, the moments are gone
# Between two conversions the chip gives the last one again, for 20 ms at 50 a second. Each must be in one block of
# 1.28 s only, or it would be in three windows: what is read so soon after a border may be from before it.
HOLD = 0.025
LOOK = 0.25  # seconds between two looks at what has been collected
SEARCH = 1.0  # seconds between two looks whether the device is there
SILENCE = 5.0  # seconds without a reading after which everything is opened anew
COLLECTED = 2000  # readings, 20 s: more are lost if the agent is busy for longer
FAILED = "readings failed"
LOST = "times the device went away or was changed"
UNSURE = "samples dropped: the device went away or was changed since the last look"
SILENT = "times nothing came for 5 s; does a buffer that is switched on have its trigger, or its interrupt line?"


def open_iio(rest: str, options: Options) -> SignalSource:
    """The sensors of this device."""
    reader = IioReader(rest, options)
    return SignalSource(
        reader, CLIPPED, CLIPPED
    )  # the sensors mark what is clipped, at the range they have by then


def find(name: str, devices: Path, options: Options) -> tuple[Sensor, Sensor]:
    """The accelerometer and the gyroscope that a name stands for."""
    there = {folder: _names(folder) for folder in sorted(devices.glob("iio:device*"))}
    wanted = {form for part in name.split("+") for form in (part, f"{part}_accel", f"{part}_gyro")}
    chosen = [folder for folder, names in there.items() if names & wanted]
    found = []
    for kind, given in ((ACCELERATION, options.acc_range), (ROTATION, options.gyro_range)):
        having = [folder for folder in chosen if (folder / f"in_{kind}_x_raw").exists()]
        if len(having) != 1:
            listed = ", ".join(
                f"{folder.name} ({' '.join(sorted(names - {folder.name}))})"
                for folder, names in there.items()
            )
            raise SourceError(
                f"source iio:{name}: {len(having)} devices of this name have in_{kind}_x_raw, and it must be one; in "
                f"{devices} are: {listed or 'none'}"
            )
        found.append(Sensor(having[0], kind, given))
    return found[0], found[1]


def _names(folder: Path) -> set[str]:
    files = (folder / "name", folder / "label")
    return {
        folder.name,
        *(file.read_text(errors="replace").strip() for file in files if file.is_file()),
    }


class Backend(Protocol):
    """One of the two ways to get at readings."""

    def read(self) -> list[Samples]:
        """What has been collected; OSError if the device is gone."""

    def check(self) -> None:
        """OSError if what has been collected may mean something else."""

    def close(self) -> None:
        """Stop."""


class IioReader:
    """Samples of the device's own sensors, also after they were away."""

    replayable = ended = False

    def __init__(self, rest: str, options: Options) -> None:
        self.name = f"iio:{rest}"
        self.tally = Tally(self.name)
        root, _, self._device = rest.rpartition("/")
        self._devices, self._nodes = Path(root or "/", DEVICES), Path(root or "/", NODES)
        self._options = options
        self._backend: Backend | None = None
        self._search_at = self._heard = 0.0
        try:
            self._sensors = find(self._device, self._devices, options)
        except (OSError, ValueError) as error:
            raise SourceError(f"source {self.name}: {error}") from None

    def start(self, cursor: Any) -> None:
        """Begin to listen."""
        self._backend = self._open()

    def _open(self) -> Backend:
        self._heard = time.monotonic()
        if buffered(self._sensors):
            return Buffers(self._sensors, self._nodes, self.tally)
        poller = Poller(self._sensors, self.tally)
        poller.start()
        return poller

    def read(self) -> list[Samples]:
        """What has been collected."""
        found: list[Samples] = []
        try:
            if self._backend is None:
                return self._search()
            found = self._backend.read()
            self._backend.check()  # after reading: now as at the last look, so all that came in between is the same
        except OSError as error:
            self.tally.add(f"{LOST} ({error.strerror or error})")
            self.tally.add(UNSURE, sum(len(samples.times) for samples in found))
            self._stop()
            return []
        if found:
            self._heard = time.monotonic()
        elif time.monotonic() > self._heard + SILENCE:
            self.tally.add(SILENT)
            self._stop()
        return found

    def _search(self) -> list[Samples]:
        if time.monotonic() >= self._search_at:
            self._search_at = time.monotonic() + SEARCH
            try:
                before, self._sensors = (
                    self._sensors,
                    find(self._device, self._devices, self._options),
                )
                self._compare(before)
                self._backend = self._open()
            except (SourceError, ValueError) as error:
                self.tally.add(f"times looked for in vain: {error}")
        return []

    def _compare(self, before: tuple[Sensor, Sensor]) -> None:
        for old, new in zip(before, self._sensors, strict=True):
            if not math.isclose(old.range, new.range, rel_tol=1e-3):
                self.tally.add(
                    f"times the full scale of {new.kind} changed from {old.range:.3g} to {new.range:.3g} "
                    f"{'g' if new.kind == ACCELERATION else 'rad/s'}; windows with readings there are dropped"
                )

    def _stop(self) -> None:
        if self._backend is not None:
            self._backend.close()
            self._backend = None
            self._search_at = time.monotonic() + SEARCH

    def fileno(self) -> int | None:
        """A sensor is looked at from time to time."""
        return None

    def delay(self) -> float:
        """Until the next look."""
        return LOOK if self._backend is not None else max(0.0, self._search_at - time.monotonic())

    def close(self) -> None:
        """Stop listening."""
        self._stop()


class Poller:
    """Reads sysfs from a thread of its own: a disk that takes its time must not make a gap in the signal."""

    def __init__(
        self,
        sensors: tuple[Sensor, Sensor],
        tally: Tally,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sensors, self._tally, self._clock, self._steady = sensors, tally, clock, steady
        self._collected: deque[tuple[float, Array, Array]] = deque(maxlen=COLLECTED)
        self._failures: deque[str] = deque(maxlen=COLLECTED)
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
            due = max(due + PERIOD, self._steady() + REST)

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
            moment = (begun + self._clock()) / 2
            if begun - block_of(moment) * HOP / RATE >= HOLD:
                self._collected.append((moment, acc, gyro))

    def read(self) -> list[Samples]:
        """What has been collected since the last call."""
        while self._failures:
            self._tally.add(f"{FAILED} ({self._failures.popleft()})")
        taken = [self._collected.popleft() for _ in range(len(self._collected))]
        if not taken:
            return []
        times, acc, gyro = (np.array(column) for column in zip(*taken, strict=True))
        return [Samples(times, acc, gyro)]

    def check(self) -> None:
        """OSError if the device is another one, or has another scale."""
        for sensor in self._sensors:
            sensor.check()

    def close(self) -> None:
        """Stop the thread."""
        self._leaving.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)
        if (
            not self._thread.is_alive()
        ):  # else it hangs in a reading, of a descriptor that must not become another's
            for sensor in self._sensors:
                sensor.close()
