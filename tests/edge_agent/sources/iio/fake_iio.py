"""A tree like that of Linux IIO in sysfs, with what the drivers of real chips have.

Files, names, links and formats.
"""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import numpy as np

AXES = "xyz"
G = 9.80665
UPRIGHT = "1, 0, 0; 0, 1, 0; 0, 0, 1"


class FakeDevice:
    """An IMU as one device (MPU-6050), or one of its two halves (LSM6DSL)."""

    def __init__(
        self,
        root: Path,
        number: int,
        name: str,
        kinds=("accel", "anglvel"),
        types="le:s16/16>>0",
        matrix=UPRIGHT,
        rate="100",
    ) -> None:
        self.root = root
        self.kinds = kinds
        self.scales = {"accel": 0.002394, "anglvel": 0.001064724}  # 8 g and 2000 degrees/s
        self.folder = root / f"sys/devices/platform/i2c/{number}-0068/iio:device{number}"
        self.link = root / f"sys/bus/iio/devices/iio:device{number}"
        self.node = root / f"dev/iio:device{number}"
        self.files = {
            "name": name,
            "current_timestamp_clock": "realtime",
            "buffer/enable": "0",
            "buffer/length": "2",
        }
        if rate:
            self.files["sampling_frequency"] = rate
            self.files["sampling_frequency_available"] = "10 20 50 100 200 500"
        self._add_sensors(types, matrix)
        self.plug()

    def _add_sensors(self, types: str, matrix: str) -> None:
        index = 0
        for kind in self.kinds:
            self.files[f"in_{kind}_scale"] = f"{self.scales[kind]:.9f}"
            self.files[f"in_{kind}_scale_available"] = "0.000598 0.002394"
            if matrix:
                self.files[f"in_{kind}_mount_matrix"] = matrix
            for axis in AXES:
                channel = f"in_{kind}_{axis}"
                self.files[f"{channel}_raw"] = str(100 + index)
                self.files[f"{channel}_calibbias"] = "0"
                if types:
                    self._add_channel(channel, types, index)
                index += 1
        if types:
            self._add_channel("in_timestamp", "le:s64/64>>0", index)

    def _add_channel(self, channel: str, form: str, index: int) -> None:
        self.files[f"scan_elements/{channel}_type"] = form
        self.files[f"scan_elements/{channel}_index"] = str(index)
        self.files[f"scan_elements/{channel}_en"] = "0"

    def plug(self) -> None:
        for name, text in self.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        self.link.parent.mkdir(parents=True, exist_ok=True)
        self.link.symlink_to(self.folder)

    def unplug(self) -> None:
        self.link.unlink()
        shutil.rmtree(self.folder)

    def write(self, name: str, text: object) -> None:
        (self.folder / name).write_text(f"{text}\n")

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def raw(self, kind: str, values) -> list[int]:
        """Values in g or rad/s as the chip would give them: rounded, and cut off at its 16 bits."""
        unit = G if kind == "accel" else 1.0
        numbers = np.round(np.asarray(values) * unit / self.scales[kind])
        return np.clip(numbers, -32768, 32767).astype(int).tolist()

    def move(self, acc, gyro) -> None:
        """Show other readings.

        Each file changes in one write of equal length, as a register would.
        """
        for kind, values in (("accel", acc), ("anglvel", gyro)):
            if kind in self.kinds:
                for axis, value in zip(AXES, self.raw(kind, values), strict=True):
                    with (self.folder / f"in_{kind}_{axis}_raw").open("r+") as file:
                        file.write(f"{value:<8d}\n")

    def switch_on(self) -> int:
        """Enable the buffer, as the owner would; returns where the kernel's scans go."""
        for path in self.folder.glob("scan_elements/*_en"):
            path.write_text("1\n")
        self.write("buffer/enable", 1)
        self.node.parent.mkdir(parents=True, exist_ok=True)
        if not self.node.exists():
            os.mkfifo(self.node)
        return os.open(self.node, os.O_RDWR | os.O_NONBLOCK)

    def scan(self, time: float, acc, gyro) -> bytes:
        """One scan: 16 bit words, filled up, and the time in nanoseconds."""
        words = []
        for kind, values in (("accel", acc), ("anglvel", gyro)):
            words += self.raw(kind, values) if kind in self.kinds else []
        head = struct.pack(f"<{len(words)}h", *words)
        return head + bytes(-len(head) % 8) + struct.pack("<q", round(time * 1e9))


def devices(root: Path) -> Path:
    """Where the links to devices are."""
    return root / "sys/bus/iio/devices"


def feed(pipes_and_devices, times, acc, gyro):
    """Scans of these samples go into the buffers."""
    for pipe, device in pipes_and_devices:
        data = b"".join(device.scan(*sample) for sample in zip(times, acc, gyro, strict=True))
        assert os.write(pipe, data) == len(data)


def whole(root):
    """One device with both sensors, and its buffer."""
    device = FakeDevice(root, 0, "mpu6050")
    return [(device.switch_on(), device)]


def halves(root, rate):
    """Two devices with one sensor each, and their buffers."""
    acc = FakeDevice(root, 0, "lsm6dsl_accel", kinds=("accel",), rate=rate)
    gyro = FakeDevice(root, 1, "lsm6dsl_gyro", kinds=("anglvel",), rate=rate)
    return [(device.switch_on(), device) for device in (acc, gyro)]
