"""A tree like that of Linux IIO in sysfs: the files, names, links and formats that the drivers of real chips have."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import numpy as np

AXES = "xyz"
G = 9.80665


class FakeDevice:
    """An IMU as one device (MPU-6050), or one of its two halves (LSM6DSL)."""

    def __init__(self, root: Path, number: int, name: str, kinds=("accel", "anglvel"), types="le:s16/16>>0",
                 matrix="1, 0, 0; 0, 1, 0; 0, 0, 1", rate="100") -> None:  # fmt: skip
        self.root, self.kinds = root, kinds
        self.scales = {"accel": 0.002394, "anglvel": 0.001064724}  # 8 g and 2000 degrees/s
        self.folder = root / f"sys/devices/platform/i2c/{number}-0068/iio:device{number}"
        self.link = root / f"sys/bus/iio/devices/iio:device{number}"
        self.node = root / f"dev/iio:device{number}"
        files = {
            "name": name,
            "current_timestamp_clock": "realtime",
            "buffer/enable": "0",
            "buffer/length": "2",
        }
        if rate:
            files |= {
                "sampling_frequency": rate,
                "sampling_frequency_available": "10 20 50 100 200 500",
            }
        index = 0
        for kind in kinds:
            files |= {
                f"in_{kind}_scale": f"{self.scales[kind]:.9f}",
                f"in_{kind}_scale_available": "0.000598 0.002394",
            }
            if matrix:
                files[f"in_{kind}_mount_matrix"] = matrix
            for axis in AXES:
                channel = f"in_{kind}_{axis}"
                files |= {f"{channel}_raw": str(100 + index), f"{channel}_calibbias": "0"}
                if types:
                    files |= {f"scan_elements/{channel}_{what}": value
                              for what, value in (("type", types), ("index", str(index)), ("en", "0"))}  # fmt: skip
                index += 1
        if types:
            files |= {f"scan_elements/in_timestamp_{what}": value
                      for what, value in (("type", "le:s64/64>>0"), ("index", str(index)), ("en", "0"))}  # fmt: skip
        self.files = files
        self.plug()

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
        found = np.round(np.asarray(values) * unit / self.scales[kind])
        return np.clip(found, -32768, 32767).astype(int).tolist()

    def move(self, acc, gyro) -> None:
        """Show other readings; each file changes in one write of equal length, as a register would."""
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

    def scan(self, moment: float, acc, gyro) -> bytes:
        """One scan: 16 bit words, filled up, and the time in nanoseconds."""
        words = [value for kind, values in (("accel", acc), ("anglvel", gyro)) if kind in self.kinds
                 for value in self.raw(kind, values)]  # fmt: skip
        head = struct.pack(f"<{len(words)}h", *words)
        return head + bytes(-len(head) % 8) + struct.pack("<q", round(moment * 1e9))


def feed(pipes_and_devices, times, acc, gyro):
    for pipe, device in pipes_and_devices:
        data = b"".join(device.scan(*sample) for sample in zip(times, acc, gyro, strict=True))
        assert os.write(pipe, data) == len(data)


def whole(root):
    device = FakeDevice(root, 0, "mpu6050")
    return [(device.switch_on(), device)]


def halves(root, rate):
    made = [FakeDevice(root, 0, "lsm6dsl_accel", kinds=("accel",), rate=rate),
            FakeDevice(root, 1, "lsm6dsl_gyro", kinds=("anglvel",), rate=rate)]  # fmt: skip
    return [(device.switch_on(), device) for device in made]
