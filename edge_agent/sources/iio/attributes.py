"""What sysfs says about one three-axis sensor of Linux IIO, by the kernel's ABI (sysfs-bus-iio)."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edge_agent.errors import SourceError
from edge_agent.signal.grid import RATE
from fsir.arrays import Matrix

SCANS = ("scan_elements", "buffer0")  # where a buffer's channels are: before kernel 5.11, and since
_TYPE = re.compile(
    r"(?P<order>be|le):(?P<sign>[su])(?P<bits>\d+)/(?P<storage>\d+)"
    r"(X(?P<repeat>\d+))?(>>(?P<shift>\d+))?$"
)


@dataclass(frozen=True, kw_only=True)
class Channel:
    """How a channel stands in a buffer."""

    bits: int
    storage: int  # bits, with what fills it up
    shift: int
    signed: bool
    little: bool  # endian
    index: int
    enabled: bool


class Attributes:
    """The files of a device about its accelerometer or its gyroscope."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self._kind = kind

    def text(self, *names: str) -> str | None:
        """What is in the first of these files that is there."""
        for name in names:
            with suppress(FileNotFoundError):
                return (self.folder / name).read_text(encoding="ascii").strip()
        return None

    def own_or_shared(self, axis: str, what: str) -> str | None:
        """The file of an axis, or the one that all of them share."""
        names = (f"in_{self._kind}_{axis}_{what}", f"in_{self._kind}_{what}")
        return next((name for name in names if (self.folder / name).is_file()), None)

    def offset(self, axis: str) -> float:
        """What is added to the raw numbers of an axis."""
        name = self.own_or_shared(axis, "offset")
        return 0.0 if name is None else float(self.text(name) or 0)

    def scale(self, name: str) -> float:
        """The scale in a file."""
        text = self.text(name)
        with suppress(ValueError):
            if (scale := float(text or "")) and math.isfinite(scale):
                return scale
        raise SourceError(
            f"{self.folder / name}: {text!r} is no scale; write one of {name}_available into it"
        )

    def mounting(self) -> Matrix:
        """The rotation from the axes of the chip to those of the device."""
        text = self.text(f"in_{self._kind}_mount_matrix", "in_mount_matrix", "mount_matrix")
        if text is None:
            return np.eye(3)
        try:
            rows = [[float(entry) for entry in row.split(",")] for row in text.split(";")]
            matrix = np.array(rows)
        except ValueError:
            matrix = np.empty(0)
        if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=0.01):
            raise SourceError(
                f"{self.folder}: the mounting matrix {text!r} is no rotation; "
                "correct the device tree"
            )
        if np.linalg.det(matrix) < 0:  # +1 or -1, after the check above
            raise SourceError(
                f"{self.folder}: the mounting matrix {text!r} mirrors (its determinant is -1), "
                "which no mounting does; correct the sign of an axis in the device tree"
            )
        return matrix

    def check_rate(self) -> None:
        """Refuse a sensor that is too slow."""
        text = self.text(f"in_{self._kind}_sampling_frequency", "sampling_frequency")
        if text is not None and 0 < float(text) < RATE:
            raise SourceError(
                f"{self.folder}: it samples {text} times a second, and {RATE} are needed; write "
                "one of its sampling_frequency_available into sampling_frequency"
            )

    def channel(self, name: str) -> Channel | None:
        """A channel of the buffer, if the driver has one."""
        text, index, enabled = (
            self.text(*(f"{place}/{name}_{what}" for place in SCANS))
            for what in ("type", "index", "en")
        )
        parts = None if text is None else _TYPE.match(text)
        if parts is None:
            return None
        return Channel(
            bits=int(parts["bits"]),
            storage=int(parts["storage"]) * int(parts["repeat"] or 1),
            shift=int(parts["shift"] or 0),
            signed=parts["sign"] == "s",
            little=parts["order"] == "le",
            index=int(index or 0),
            enabled=enabled == "1",
        )
