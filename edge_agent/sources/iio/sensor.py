"""One three-axis sensor of Linux IIO in sysfs: what its raw numbers mean, by the kernel's ABI (sysfs-bus-iio).

    value = (in_accel_x_raw + in_accel_offset) * in_accel_scale, in m/s^2 (anglvel: rad/s), then the mounting matrix

Scale and offset are shared by the axes or given for each. The type of a channel in a buffer, "le:s16/16>>0", tells the
bits of a raw number, and with the scale the full scale of the sensor. A reading there has lost its true height, and is
marked as such here: a sensor that was away may come back with another full scale.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edge_agent.errors import SourceError
from edge_agent.signal.track import FULL_SCALE, RATE
from edge_agent.sources.windowed import STANDARD_GRAVITY

Array = NDArray[np.float64]

ACCELERATION, ROTATION = "accel", "anglvel"
SCANS = ("scan_elements", "buffer0")  # where a buffer's channels are: before kernel 5.11, and since
CLIPPED = 1e6  # g or rad/s: what a reading at full scale becomes, more than any sensor can say
_UNITS = {ACCELERATION: 1 / STANDARD_GRAVITY, ROTATION: 1.0}  # to g and rad/s
_FLAGS = {ACCELERATION: "--acc-range, in g", ROTATION: "--gyro-range, in rad/s"}
_TYPE = re.compile(
    r"(?P<order>be|le):(?P<sign>[su])(?P<bits>\d+)/(?P<storage>\d+)(X(?P<repeat>\d+))?(>>(?P<shift>\d+))?$"
)


@dataclass(frozen=True)
class Channel:
    """How a channel stands in a buffer."""

    bits: int
    storage: int  # bits, with what fills it up
    shift: int
    signed: bool
    little: bool  # endian
    index: int
    enabled: bool


class Sensor:
    """The accelerometer or the gyroscope of a device."""

    def __init__(self, folder: Path, kind: str, given: float | None) -> None:
        self.folder, self.kind = folder, kind
        self._identity = folder.stat().st_ino
        self._files: dict[str, int] = {}
        scales = [
            name for axis in "xyz" if (name := self._own_or_shared(axis, "scale")) is not None
        ]
        if len(scales) < 3:
            raise SourceError(
                f"{folder}: there is no in_{kind}_scale, so that the unit of its readings is not known"
            )
        offsets = [self._own_or_shared(axis, "offset") for axis in "xyz"]
        self._offset = np.array(
            [0.0 if name is None else float(self.text(name) or 0) for name in offsets]
        )
        self._matrix = self._mounting()
        self._check_rate()
        tops = self._largest()
        if tops is None and given is None:
            raise SourceError(
                f"{folder}: this driver does not tell the full scale of {kind}; give {_FLAGS[kind]}: beyond it a peak "
                "is cut off, and its window must be dropped"
            )
        if given is not None and not 0 < given < math.inf:
            raise SourceError(
                f"full scale {given} of {kind}: it must be finite and above 0; see {_FLAGS[kind]}"
            )
        self._scales = {name: self._scale_in(name) for name in scales}
        self._scale = np.array([self._scales[name] for name in scales])
        # The owner may know that the chip clips earlier than its numbers do, never later.
        full = math.inf if tops is None else tops * np.abs(self._scale) * _UNITS[kind]
        self._full_scale = np.minimum(full, math.inf if given is None else given)
        self.range = float(np.max(self._full_scale))  # g or rad/s

    # --- attributes -----------------------------------------------------------------------------------------------

    def text(self, *names: str) -> str | None:
        """What is in the first of these files that is there."""
        for name in names:
            with suppress(FileNotFoundError):
                return (self.folder / name).read_text(encoding="ascii").strip()
        return None

    def _own_or_shared(self, axis: str, what: str) -> str | None:
        names = (f"in_{self.kind}_{axis}_{what}", f"in_{self.kind}_{what}")
        return next((name for name in names if (self.folder / name).is_file()), None)

    def _scale_in(self, name: str) -> float:
        text = self.text(name)
        with suppress(ValueError):
            if (scale := float(text or "")) and math.isfinite(scale):
                return scale
        raise SourceError(
            f"{self.folder / name}: {text!r} is no scale; write one of {name}_available into it"
        )

    def _mounting(self) -> Array:
        text = self.text(f"in_{self.kind}_mount_matrix", "in_mount_matrix", "mount_matrix")
        if text is None:
            return np.eye(3)
        try:
            matrix = np.array(
                [[float(entry) for entry in row.split(",")] for row in text.split(";")]
            )
        except ValueError:
            matrix = np.empty(0)
        if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=0.01):
            raise SourceError(
                f"{self.folder}: the mounting matrix {text!r} is no rotation; correct the device tree"
            )
        if np.linalg.det(matrix) < 0:  # +1 or -1, after the check above
            raise SourceError(
                f"{self.folder}: the mounting matrix {text!r} mirrors (its determinant is -1), which no mounting does; "
                "correct the sign of an axis in the device tree"
            )
        return matrix

    def _check_rate(self) -> None:
        text = self.text(f"in_{self.kind}_sampling_frequency", "sampling_frequency")
        if text is not None and 0 < float(text) < RATE:
            raise SourceError(
                f"{self.folder}: it samples {text} times a second, and {RATE} are needed; write one of its "
                "sampling_frequency_available into sampling_frequency"
            )

    def channel(self, name: str) -> Channel | None:
        """A channel of the buffer, if the driver has one."""
        text, index, enabled = (
            self.text(*(f"{place}/{name}_{what}" for place in SCANS))
            for what in ("type", "index", "en")
        )
        found = None if text is None else _TYPE.match(text)
        if found is None:
            return None
        storage = int(found["storage"]) * int(found["repeat"] or 1)
        signed, little = found["sign"] == "s", found["order"] == "le"
        return Channel(
            int(found["bits"]),
            storage,
            int(found["shift"] or 0),
            signed,
            little,
            int(index or 0),
            enabled == "1",
        )

    def _largest(self) -> Array | None:
        """For each axis the largest number, offset included, that is reached in both directions."""
        tops = []
        for axis, offset in zip("xyz", self._offset.tolist(), strict=True):
            channel = self.channel(f"in_{self.kind}_{axis}")
            if channel is None:
                return None
            low = -(2.0 ** (channel.bits - 1)) if channel.signed else 0.0
            tops.append(min(-(low + offset), low + 2.0**channel.bits - 1 + offset))
        return np.array(tops) if min(tops) > 0 else None

    # --- readings -------------------------------------------------------------------------------------------------

    def _number(self, name: str) -> float:
        """From a file that stays open: if the device goes, it fails, whatever takes the device's place."""
        if name not in self._files:
            self._files[name] = os.open(self.folder / name, os.O_RDONLY | os.O_CLOEXEC)
        return float(os.pread(self._files[name], 32, 0))

    def read(self) -> Array:
        """One reading, in g or rad/s; OSError or ValueError if there is none."""
        reading: Array = self.convert(
            np.array([[self._number(f"in_{self.kind}_{axis}_raw") for axis in "xyz"]])
        )[0]
        return reading

    def convert(self, raw: Array) -> Array:
        """Raw numbers, n x 3, to g or rad/s along the axes of the device.

        Full scale belongs to the axes of the chip, so it is checked here, before turning: a reading there becomes one
        that is too large for any sensor.
        """
        values = (raw + self._offset) * self._scale * _UNITS[self.kind]
        clipped = (np.abs(values) >= FULL_SCALE * self._full_scale).any(axis=1)
        turned: Array = values @ self._matrix.T
        turned[clipped] = CLIPPED
        return turned

    def check(self) -> None:
        """OSError if readings may mean something else by now: the device is gone, or anyone has changed its scale."""
        if not self.folder.exists() or self.folder.stat().st_ino != self._identity:
            raise OSError("no such device")
        self.unchanged(self._scales, "its scale")

    def unchanged(self, numbers: dict[str, float], what: str) -> None:
        """OSError if these files no longer hold these numbers."""
        try:
            found = {name: self._number(name) for name in numbers}
        except ValueError:  # a file that is just being written
            found = {}
        if found != numbers:
            raise OSError(f"{what} changed")

    def close(self) -> None:
        """Close the files."""
        while self._files:
            os.close(self._files.popitem()[1])
