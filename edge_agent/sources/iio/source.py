"""`iio:DEVICE`: an accelerometer and a gyroscope of this device, through Linux IIO.

    iio:iio:device0            a device by its place in /sys/bus/iio/devices
    iio:mpu6050                by the text in its file `name` (or `label`)
    iio:lsm6dsl                two devices, lsm6dsl_accel and lsm6dsl_gyro
    iio:bmc150_accel+bmg160    two devices of different names
    iio:/host/mpu6050          with sysfs at /host/sys and devices at /host/dev, as in a container

Where the owner has switched on the buffers of the device, the kernel collects the samples with
their times: best, and with some drivers the only way (LSM6DS*, LSM9DS1: a single reading takes them
three periods per axis). Else a thread reads sysfs a hundred times a second, and a reading gets the
time at which it was read: its jitter is that of the scheduler and of the sensor's own period, a few
milliseconds, which the windows undo. Readings that fail are counted, and a device that goes away is
looked for every second. If anyone changes its scale or the channels of its buffer, it is opened
anew: what was collected since the last look may be of either kind, and is dropped.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, Protocol

from edge_agent.errors import SourceError
from edge_agent.sources.base import Options
from edge_agent.sources.iio.buffer import Buffers, buffered
from edge_agent.sources.iio.poller import Poller
from edge_agent.sources.iio.search import find
from edge_agent.sources.iio.sensor import ACCELERATION, CLIPPED, Sensor
from edge_agent.sources.samples import Samples
from edge_agent.sources.tally import Tally
from edge_agent.sources.windowed import SignalSource

DEVICES = "sys/bus/iio/devices"  # below the root directory
NODES = "dev"
LOOK_SECONDS = 0.25  # between two looks at what has been collected
SEARCH_SECONDS = 1.0  # between two looks whether the device is there
SILENCE_SECONDS = 5.0  # without a reading, after which everything is opened anew
LOST = "times the device went away or was changed"
UNSURE = "samples dropped: the device went away or was changed since the last look"
SILENT = (
    "times nothing came for 5 s; "
    "does a buffer that is switched on have its trigger, or its interrupt line?"
)


def open_iio(rest: str, options: Options) -> SignalSource:
    """The sensors of this device."""
    reader = IioReader(rest, options)
    # The sensors mark what is clipped, at the range they have by then.
    return SignalSource(reader, CLIPPED, CLIPPED)


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

    replayable = False
    ended = False

    def __init__(self, rest: str, options: Options) -> None:
        self.name = f"iio:{rest}"
        self.tally = Tally(self.name)
        root, _, self._device = rest.rpartition("/")
        self._devices = Path(root or "/", DEVICES)
        self._nodes = Path(root or "/", NODES)
        self._options = options
        self._backend: Backend | None = None
        self._search_at = 0.0
        self._heard = 0.0
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
        collected: list[Samples] = []
        try:
            if self._backend is None:
                self._search()
                return []
            collected = self._backend.read()
            # After reading: now as at the last look, so all that came in between is the same.
            self._backend.check()
        except OSError as error:
            self.tally.add(f"{LOST} ({error.strerror or error})")
            self.tally.add(UNSURE, sum(len(samples.times) for samples in collected))
            self._stop()
            return []
        if collected:
            self._heard = time.monotonic()
        elif time.monotonic() > self._heard + SILENCE_SECONDS:
            self.tally.add(SILENT)
            self._stop()
        return collected

    def _search(self) -> None:
        if time.monotonic() >= self._search_at:
            self._search_at = time.monotonic() + SEARCH_SECONDS
            try:
                before = self._sensors
                self._sensors = find(self._device, self._devices, self._options)
                self._compare(before)
                self._backend = self._open()
            except (SourceError, ValueError) as error:
                self.tally.add(f"times looked for in vain: {error}")

    def _compare(self, before: tuple[Sensor, Sensor]) -> None:
        for old, new in zip(before, self._sensors, strict=True):
            if not math.isclose(old.range, new.range, rel_tol=1e-3):
                unit = "g" if new.kind == ACCELERATION else "rad/s"
                self.tally.add(
                    f"times the full scale of {new.kind} changed from {old.range:.3g} to "
                    f"{new.range:.3g} {unit}; windows with readings there are dropped"
                )

    def _stop(self) -> None:
        if self._backend is not None:
            self._backend.close()
            self._backend = None
            self._search_at = time.monotonic() + SEARCH_SECONDS

    def fileno(self) -> int | None:
        """A sensor is looked at from time to time."""
        return None

    def delay(self) -> float:
        """Until the next look."""
        if self._backend is not None:
            return LOOK_SECONDS
        return max(0.0, self._search_at - time.monotonic())

    def close(self) -> None:
        """Stop listening."""
        self._stop()
