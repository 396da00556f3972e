"""One three-axis sensor of Linux IIO in sysfs: what its raw numbers mean.

    value = (in_accel_x_raw + in_accel_offset) * in_accel_scale, then the mounting matrix

in m/s^2 (anglvel: rad/s). Scale and offset are shared by the axes or given for each. The type of a
channel in a buffer, "le:s16/16>>0", tells the bits of a raw number, and with the scale the full
scale of the sensor. A reading there has lost its true height, and is marked as such here: a sensor
that was away may come back with another full scale.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from edge_agent.errors import SourceError
from edge_agent.signal.track import FULL_SCALE
from edge_agent.sources.iio.attributes import Attributes
from edge_agent.sources.samples import STANDARD_GRAVITY
from fsir.arrays import Matrix

ACCELERATION = "accel"
ROTATION = "anglvel"
AXES = "xyz"
CLIPPED = 1e6  # g or rad/s: what a reading at full scale becomes, more than any sensor can say
_UNITS = {ACCELERATION: 1 / STANDARD_GRAVITY, ROTATION: 1.0}  # to g and rad/s
_FLAGS = {ACCELERATION: "--acc-range, in g", ROTATION: "--gyro-range, in rad/s"}


class Sensor:
    """The accelerometer or the gyroscope of a device."""

    def __init__(self, folder: Path, kind: str, given: float | None) -> None:
        self.folder = folder
        self.kind = kind
        self.attributes = Attributes(folder, kind)
        self._identity = folder.stat().st_ino
        self._files: dict[str, int] = {}
        scales = self._scale_files()
        self._offset = np.array([self.attributes.offset(axis) for axis in AXES])
        self._matrix = self.attributes.mounting()
        self.attributes.check_rate()
        tops = self._largest()
        self._check_given(given, known=tops is not None)
        self._scales = {name: self.attributes.scale(name) for name in scales}
        self._scale = np.array([self._scales[name] for name in scales])
        # The owner may know that the chip clips earlier than its numbers do, never later.
        full = math.inf if tops is None else tops * np.abs(self._scale) * _UNITS[kind]
        self._full_scale = np.minimum(full, math.inf if given is None else given)
        self.range = float(np.max(self._full_scale))  # g or rad/s

    def _scale_files(self) -> list[str]:
        """For each axis the file that holds its scale."""
        names = [self.attributes.own_or_shared(axis, "scale") for axis in AXES]
        scales = [name for name in names if name is not None]
        if len(scales) < len(AXES):
            raise SourceError(
                f"{self.folder}: there is no in_{self.kind}_scale, "
                "so that the unit of its readings is not known"
            )
        return scales

    def _check_given(self, given: float | None, *, known: bool) -> None:
        """Refuse a full scale that nobody tells, or one that is none."""
        if given is None and not known:
            raise SourceError(
                f"{self.folder}: this driver does not tell the full scale of {self.kind}; give "
                f"{_FLAGS[self.kind]}: beyond it a peak is cut off, and its window must be dropped"
            )
        if given is not None and not 0 < given < math.inf:
            raise SourceError(
                f"full scale {given} of {self.kind}: it must be finite and above 0; "
                f"see {_FLAGS[self.kind]}"
            )

    def _largest(self) -> Matrix | None:
        """For each axis the largest number, offset included, reached in both directions."""
        tops = []
        for axis, offset in zip(AXES, self._offset.tolist(), strict=True):
            channel = self.attributes.channel(f"in_{self.kind}_{axis}")
            if channel is None:
                return None
            low = -(2.0 ** (channel.bits - 1)) if channel.signed else 0.0
            tops.append(min(-(low + offset), low + 2.0**channel.bits - 1 + offset))
        return np.array(tops) if min(tops) > 0 else None

    # --- readings ---------------------------------------------------------------------------------

    def _number(self, name: str) -> float:
        """From a file that stays open.

        If the device goes, it fails, whatever takes the device's place.
        """
        if name not in self._files:
            self._files[name] = os.open(self.folder / name, os.O_RDONLY | os.O_CLOEXEC)
        return float(os.pread(self._files[name], 32, 0))

    def read(self) -> Matrix:
        """One reading, in g or rad/s; OSError or ValueError if there is none."""
        raw = [self._number(f"in_{self.kind}_{axis}_raw") for axis in AXES]
        reading: Matrix = self.convert(np.array([raw]))[0]
        return reading

    def convert(self, raw: Matrix) -> Matrix:
        """Raw numbers, n x 3, to g or rad/s along the axes of the device.

        Full scale belongs to the axes of the chip, so it is checked here, before turning: a reading
        there becomes one that is too large for any sensor.
        """
        values = (raw + self._offset) * self._scale * _UNITS[self.kind]
        clipped = (np.abs(values) >= FULL_SCALE * self._full_scale).any(axis=1)
        turned: Matrix = values @ self._matrix.T
        turned[clipped] = CLIPPED
        return turned

    # --- changes ----------------------------------------------------------------------------------

    def check(self) -> None:
        """OSError if readings may mean something else by now.

        The device is gone, or anyone has changed its scale.
        """
        if not self.folder.exists() or self.folder.stat().st_ino != self._identity:
            raise OSError("no such device")
        self.unchanged(self._scales, "its scale")

    def unchanged(self, numbers: dict[str, float], what: str) -> None:
        """OSError if these files no longer hold these numbers."""
        try:
            there = {name: self._number(name) for name in numbers}
        except ValueError:  # a file that is just being written
            there = {}
        if there != numbers:
            raise OSError(f"{what} changed")

    def close(self) -> None:
        """Close the files."""
        while self._files:
            os.close(self._files.popitem()[1])
