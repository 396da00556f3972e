"""Jittered samples of an accelerometer and a gyroscope to windows of nine 50 Hz signals.

Window k begins k * 1.28 s after the epoch, on every device, and has 128 samples; the next one begins 64 later. It is
made of nothing but the samples whose times lie in it or within `margin` cells of it: resampling, filters and every
check see these alone. So one sample touches at most `unit_records(margin)` windows, and that is the number of
records that the privacy unit must cover: 2 without a margin, which is the default, 3 up to a margin of 32.

A window that can't be trusted is dropped and counted by reason, as long as it held samples:
    gap          a stall, lost samples, a jump ahead, or the start in mid-window
    sparse       fewer than 9 samples for 10 cells, or most cells without one: the sensor is too slow
    backward     the clock went back while the window was open
    not finite, saturated, stuck      readings that are no readings
Samples from before the end of the last complete window are refused ("stale"): a clock that goes back, or a file read
twice, never makes a window a second time. A sample in the same millisecond as the one before is ignored ("repeated"),
and so is one which comes when the other sensor is so far ahead that its windows have been given up ("behind"). All
this is decided by the times alone, never by readings: a changed reading reaches no further than its own windows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge_agent.signal.filters import low_pass, median_of_three
from edge_agent.signal.track import MAX_GAP, RATE, Track, timing_fault, to_grid, value_fault

Array = NDArray[np.float64]

WINDOW, HOP = 128, 64
NOISE_CUTOFF, GRAVITY_CUTOFF = 20.0, 0.3
# Full scale of the sensors behind the UCI set, in g and rad/s. Give those of your own: beyond them a peak is cut off.
ACC_RANGE, GYRO_RANGE = 2.0, 10.0
# How far one sensor may run ahead of the other before the windows in between are given up.
MAX_LAG = WINDOW
# Samples closer than this have no order that a sensor's clock can vouch for; it also bounds what a window can hold.
TICKS_PER_CELL = 20
# Rows taken at a time, so that a long recording needs no more memory than a stream.
PIECE = 1024


def unit_records(margin: int = 0) -> int:
    """How many windows one sample can touch: those whose 128 cells and two margins contain its time."""
    if margin < 0:
        raise ValueError(f"margin {margin}: a margin is a number of cells, 0 or more")
    return -(-(WINDOW + 2 * margin) // HOP)


def positions_of(times: ArrayLike) -> Array:
    """Times (seconds since the epoch) in cells, to a thousandth (20 us).

    A sensor that ticks on the borders of cells must not fall to either side.
    """
    return np.round(np.asarray(times, dtype=np.float64) * RATE, 3)


def block_of(moment: float) -> int:
    """The block of 1.28 s, two of which are a window, in which a sample of this time lies."""
    return int(positions_of(moment) // HOP)


def tick(position: Any) -> Any:
    """The tick in which a position (or each of an array) lies."""
    return np.floor(position * TICKS_PER_CELL)


@dataclass(frozen=True)
class Window:
    """Signals in the order of `edge_agent.signal.features.CHANNELS`: 9 x 128, or 9 x 129 if a margin holds the next sample."""

    index: int
    signals: Array

    @property
    def start(self) -> float:
        """Seconds since the epoch."""
        return self.index * HOP / RATE


class Windower:
    """Takes samples as they come, in pieces of any size, and gives back the windows that they complete.

    margin: cells on either side of a window that its filters may see.
    since: refuse samples before this time (seconds since the epoch): the `done` of an earlier run.
    """

    def __init__(
        self,
        margin: int = 0,
        acc_range: float = ACC_RANGE,
        gyro_range: float = GYRO_RANGE,
        since: float = -np.inf,
    ) -> None:
        self.unit_records = unit_records(margin)
        self.dropped: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._margin, self._cells = margin, WINDOW + 2 * margin
        self._acc, self._gyro = Track(), Track()
        self._scales = (acc_range, gyro_range)
        self._done = since * RATE
        self._next: int | None = None

    @property
    def done(self) -> float:
        """Samples before this time (seconds since the epoch) are part of a complete window, or were refused."""
        return self._done / RATE

    def push(self, times: ArrayLike, acc: ArrayLike, gyro: ArrayLike) -> list[Window]:
        """Samples of both sensors taken at the same times: seconds since the epoch, g, rad/s."""
        return self._push(times, ((self._acc, acc), (self._gyro, gyro)))

    def push_acceleration(self, times: ArrayLike, acc: ArrayLike) -> list[Window]:
        """Samples of an accelerometer with times of its own."""
        return self._push(times, ((self._acc, acc),))

    def push_rotation(self, times: ArrayLike, gyro: ArrayLike) -> list[Window]:
        """Samples of a gyroscope with times of its own."""
        return self._push(times, ((self._gyro, gyro),))

    def _push(self, times: ArrayLike, parts: tuple[tuple[Track, ArrayLike], ...]) -> list[Window]:
        positions = np.atleast_1d(positions_of(times))
        if positions.ndim != 1 or not np.isfinite(positions).all():
            raise ValueError("times must be one finite number of seconds for each sample")
        samples = [
            (track, np.asarray(values, dtype=np.float64).reshape(-1, 3)) for track, values in parts
        ]
        for _, values in samples:
            if len(values) != len(positions):
                raise ValueError(
                    f"{len(positions)} times for {len(values)} samples: give one time for each"
                )
        ticks = tick(positions)
        falls = (np.flatnonzero(ticks[1:] <= ticks[:-1]) + 1).tolist()
        cuts = sorted({*range(0, len(positions), PIECE), *falls, len(positions)})
        windows: list[Window] = []
        for low, high in pairwise(cuts):
            piece = [(track, values[low:high]) for track, values in samples]
            self._take(positions[low:high], piece)
            windows += self._collect()
        return windows

    def _take(self, positions: Array, piece: list[tuple[Track, Array]]) -> None:
        """Append samples whose times rise, after a look at how they continue what came before."""
        # First of all, so that an old message which comes late costs nothing but itself.
        skip = int(np.searchsorted(positions, self._done))
        self.refused["stale"] += skip
        newest = tick(max(track.last for track, _ in piece))
        if skip and tick(positions[skip - 1]) < newest:
            for track, _ in piece:
                track.behind = float(positions[skip - 1])
        if skip == len(positions):
            return
        # A clock that goes back brings stale samples until it is where it was, and goes on as if nothing had been.
        caught_up = positions[skip] - max(track.behind for track, _ in piece) <= MAX_GAP * RATE
        if caught_up or tick(positions[skip]) < newest:
            self._go_back(positions[skip])
        elif tick(positions[skip]) == newest:
            self.refused["repeated"] += 1
            skip += 1
        if skip == len(positions):
            return
        for track, values in piece:
            track.append(positions[skip:], values[skip:])
        if self._next is None:
            self._next = self._first_touching(positions[skip])
        # Where the other sensor is far ahead, no window will ask for these any more.
        if gone := max(track.forget(self._next * HOP - self._margin) for track, _ in piece):
            self.refused["behind"] += gone

    def _go_back(self, position: float) -> None:
        """Forget what is open. Windows that were open stay dropped, unless the clock left them far behind."""
        first = self._first_touching(position)
        if self._next is not None:
            newest = max(self._acc.last, self._gyro.last)
            open_until = int((newest + self._margin) // HOP)
            self.dropped["backward"] += max(open_until - self._next + 1, 0)
            if self._next <= first <= open_until:
                first = open_until + 1
        self._acc.clear()
        self._gyro.clear()
        self._next = first

    def _first_touching(self, position: float) -> int:
        """The first window that has this position in its cells or its margin."""
        return int((position - WINDOW - self._margin) // HOP) + 1

    def _collect(self) -> list[Window]:
        windows: list[Window] = []
        tracks = (self._acc, self._gyro)
        while self._next is not None:
            end = self._next * HOP + WINDOW + self._margin
            if (
                min(track.last for track in tracks) < end
                and max(track.last for track in tracks) < end + MAX_LAG
            ):
                break
            if (window := self._decide(self._next)) is not None:
                windows.append(window)
            for track in tracks:
                track.forget((self._next + 1) * HOP - self._margin)
            oldest = min(
                (track.positions[0] for track in tracks if len(track.positions)), default=-np.inf
            )
            self._next = max(
                self._next + 1, self._first_touching(oldest) if np.isfinite(oldest) else 0
            )
        return windows

    def _decide(self, index: int) -> Window | None:
        first = index * HOP - self._margin
        cuts = [track.cut(first, self._cells) for track in (self._acc, self._gyro)]
        fault = next((found for at, _ in cuts if (found := timing_fault(at, self._cells))), None)
        if fault is None:
            # Set by the times alone: whether a reading is good must not decide which later samples are stale.
            self._done = first + self._cells
            checks = (
                value_fault(at, values, top)
                for (at, values), top in zip(cuts, self._scales, strict=True)
            )
            fault = next((found for found in checks if found), None)
        if fault is None:
            acc, gyro = (to_grid(at, values, self._cells) for at, values in cuts)
            return Window(index, separate(acc, gyro, self._margin))
        if any(len(at) for at, _ in cuts):
            self.dropped[fault] += 1
        return None


def separate(acc: Array, gyro: Array, margin: int = 0) -> Array:
    """Noise filter, then gravity apart from the body's own acceleration, of a window with its margins.

    acc, gyro: one row per cell of the grid (128 + 2 margin), three columns; or a stack of such windows.
    """
    clean, gravity = _filters(margin)
    signal = median_of_three(np.concatenate([acc, gyro], axis=-1))
    smooth = np.swapaxes(clean @ signal, -1, -2)
    body = smooth[..., :3, :] - np.swapaxes(gravity @ signal[..., :3], -1, -2)
    return np.concatenate([body, smooth[..., 3:, :], smooth[..., :3, :]], axis=-2)


@lru_cache(maxsize=4)
def _filters(margin: int) -> tuple[Array, Array]:
    """The rows of the two filters that fall on the window, and on the sample after it if the margin holds one."""
    cells = WINDOW + 2 * margin
    rows = slice(margin, margin + WINDOW + (1 if margin else 0))
    clean, gravity = (low_pass(cells, cutoff, RATE) for cutoff in (NOISE_CUTOFF, GRAVITY_CUTOFF))
    return np.ascontiguousarray(clean[rows]), np.ascontiguousarray((gravity @ clean)[rows])
