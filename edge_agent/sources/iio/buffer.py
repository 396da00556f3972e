"""The buffers of Linux IIO: scans that the kernel has collected, read from /dev/iio:deviceN.

A scan has the kernel's own time. It holds the channels that are switched on, in the order of their
index, each aligned to its own size, and the whole to the size of its largest. Switching them on
needs rights that the agent should not have: docs/sensors.md has the commands. The agent reads what
is there and never waits. What was there before it came is dropped: nobody knows whether scale and
channels were then what they are now.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edge_agent.errors import SourceError
from edge_agent.sources.iio.attributes import SCANS, Attributes, Channel
from edge_agent.sources.iio.sensor import ACCELERATION, AXES, ROTATION, Sensor
from edge_agent.sources.samples import Samples
from edge_agent.sources.tally import Tally
from fsir.arrays import Integers, Matrix

CHUNK_BYTES = 65536  # at a time
# Of one device, before it is the other's turn: neither may run far ahead of the other.
SLICE_SECONDS = 1.0
EARLIER = "scans dropped: they were in the buffer before the agent listened"
TIME = "in_timestamp"


def buffered(sensors: tuple[Sensor, Sensor]) -> bool:
    """Whether the owner has switched on the buffers."""
    on = [_on(sensor) for sensor in sensors]
    if on[0] != on[1]:
        raise SourceError(
            f"the buffer of {sensors[on[0]].folder.name} is off, "
            f"that of {sensors[on[1]].folder.name} on: write 1 into buffer/enable of both, or 0"
        )
    return on[0]


def _on(sensor: Sensor) -> bool:
    return sensor.attributes.text("buffer0/enable", "buffer/enable") == "1"


@dataclass(frozen=True)
class _Field:
    """Where a channel stands in a scan."""

    offset: int
    word: str  # for numpy
    channel: Channel

    def values(self, scans: NDArray[np.uint8]) -> Integers:
        """The channel of all scans."""
        end = self.offset + np.dtype(self.word).itemsize
        columns = np.ascontiguousarray(scans[:, self.offset : end])
        words = columns.view(self.word)[:, 0].astype(np.uint64)
        # Up and down again: bits that do not belong to it go, and the sign is extended on the way
        # down.
        unused = 64 - self.channel.bits
        moved = (words >> np.uint64(self.channel.shift)) << np.uint64(unused)
        if self.channel.signed:
            return moved.view(np.int64) >> np.int64(unused)
        return (moved >> np.uint64(unused)).astype(np.int64)


class _Node:
    """One device: the scans of its buffer, and the sensors whose channels are in them."""

    def __init__(self, sensors: list[Sensor], nodes: Path) -> None:
        self._sensors = sensors
        self._rest = b""
        folder = sensors[0].folder
        self._switches = {
            f"{place}/{path.name}": float(path.read_text())
            for place in SCANS
            for path in folder.glob(f"{place}/in_*_en")
        }
        names = sorted({Path(switch).name.removesuffix("_en") for switch in self._switches})
        self._fields, self._size = _layout(sensors[0].attributes, names)
        self._check(folder)
        node = nodes / folder.name
        try:
            self._file = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise SourceError(
                f"{node}: {error.strerror}; the user of the agent must be allowed to read it, and "
                "nobody else may have it open"
            ) from None

    def _check(self, folder: Path) -> None:
        """Refuse a buffer that lacks a channel, or has another clock."""
        axes = [f"in_{sensor.kind}_{axis}" for sensor in self._sensors for axis in AXES]
        for channel in (TIME, *axes):
            if channel not in self._fields:
                raise SourceError(
                    f"{folder}: its buffer lacks {channel}; write 1 into scan_elements/{channel}_en"
                )
        clock = self._sensors[0].attributes.text("current_timestamp_clock") or "realtime"
        if clock != "realtime":
            raise SourceError(
                f"{folder}: its clock is {clock!r}; write realtime into current_timestamp_clock"
            )

    def scans(self) -> NDArray[np.uint8]:
        """All that is in the buffer.

        What stayed there would be missing when the other device's samples come.
        """
        chunk = CHUNK_BYTES // self._size * self._size
        pieces = [self._rest]
        full = True
        with suppress(BlockingIOError):
            while full:
                pieces.append(os.read(self._file, chunk))
                full = len(pieces[-1]) == chunk
        joined = b"".join(pieces)
        whole = len(joined) // self._size * self._size
        self._rest = joined[whole:]
        return np.frombuffer(joined[:whole], np.uint8).reshape(-1, self._size)

    def read(self) -> Samples:
        """What is in the buffer, in units of the samples."""
        scans = self.scans()
        times = self._fields[TIME].values(scans) / 1e9
        values = {sensor.kind: self._values(sensor, scans) for sensor in self._sensors}
        return Samples(times=times, acc=values.get(ACCELERATION), gyro=values.get(ROTATION))

    def _values(self, sensor: Sensor, scans: NDArray[np.uint8]) -> Matrix:
        raw = [self._fields[f"in_{sensor.kind}_{axis}"].values(scans) for axis in AXES]
        return sensor.convert(np.stack(raw, axis=1).astype(np.float64))

    def check(self) -> None:
        """OSError if the device is another one, or its buffer holds something else."""
        for sensor in self._sensors:
            sensor.check()
        self._sensors[0].unchanged(self._switches, "the channels of its buffer")

    def close(self) -> None:
        """Let others have it."""
        os.close(self._file)
        for sensor in self._sensors:
            sensor.close()


def _layout(device: Attributes, names: list[str]) -> tuple[dict[str, _Field], int]:
    """The fields of a scan by channel, and its size."""
    known = [(channel, name) for name in names if (channel := device.channel(name)) is not None]
    enabled = [(channel, name) for channel, name in known if channel.enabled]
    fields: dict[str, _Field] = {}
    end = 0
    largest = 1
    for channel, name in sorted(enabled, key=lambda entry: entry[0].index):
        size = channel.storage // 8
        if size not in (1, 2, 4, 8):
            raise SourceError(
                f"{device.folder}: {name} takes {size} bytes in the buffer; switch it off"
            )
        end = _rounded_up(end, size)
        fields[name] = _Field(end, f"{'<' if channel.little else '>'}u{size}", channel)
        end += size
        largest = max(largest, size)
    return fields, _rounded_up(end, largest)


def _rounded_up(length: int, unit: int) -> int:
    return -(-length // unit) * unit


class Buffers:
    """The buffers of an accelerometer and a gyroscope, of one device or of two."""

    def __init__(self, sensors: tuple[Sensor, Sensor], nodes: Path, tally: Tally) -> None:
        one_device = sensors[0].folder == sensors[1].folder
        groups = [list(sensors)] if one_device else [[sensor] for sensor in sensors]
        self._nodes: list[_Node] = []
        try:
            for group in groups:
                self._nodes.append(_Node(group, nodes))
            tally.add(EARLIER, sum(len(node.scans()) for node in self._nodes))
        except (OSError, ValueError, SourceError) as error:
            self.close()
            raise SourceError(str(error)) from None

    def read(self) -> list[Samples]:
        """What the kernel has collected, the devices in turn."""
        return in_turn(node.read() for node in self._nodes)

    def check(self) -> None:
        """OSError if a device is another one, or has another scale or other channels."""
        for node in self._nodes:
            node.check()

    def close(self) -> None:
        """Let others have them."""
        while self._nodes:
            self._nodes.pop().close()


def in_turn(streams: Iterable[Samples]) -> list[Samples]:
    """Streams of the same time, in slices that take turns, each stream in its own order."""
    slices: list[tuple[tuple[int, int], Samples]] = []
    for samples in streams:
        if not len(samples.times):
            continue
        steps = np.diff(samples.times, prepend=samples.times[0])
        # A clock that is set back goes back in both streams: time that has passed keeps them
        # together.
        passed = samples.times[0] + np.cumsum(np.maximum(steps, 0.0))
        turns = np.floor(passed / SLICE_SECONDS).astype(int)
        falls = np.cumsum(steps < 0)
        cuts = np.flatnonzero(np.diff(turns) + np.diff(falls)) + 1
        for low, high in pairwise((0, *cuts.tolist(), len(steps))):
            turn = (int(turns[low]), int(falls[low]))
            slices.append((turn, samples.part(slice(low, high))))
    return [samples for _, samples in sorted(slices, key=lambda entry: entry[0])]
