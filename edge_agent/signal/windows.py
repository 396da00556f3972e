"""Jittered samples of an accelerometer and a gyroscope to windows of nine 50 Hz signals.

Window k begins k * 1.28 s after the epoch, on every device, and has 128 samples; the next one
begins 64 later. It is made of nothing but the samples whose times lie in it or within `margin`
cells of it: resampling, filters and every check see these alone. So one sample touches at most
`unit_records(margin)` windows, and that is the number of records that the privacy unit must cover:
2 without a margin, which is the default, 3 up to a margin of 32.

A window that can't be trusted is dropped and counted by reason, as long as it held samples:
    gap          a stall, lost samples, a jump ahead, or the start in mid-window
    sparse       fewer than 9 samples for 10 cells, or most cells without one: the sensor is slow
    backward     the clock went back while the window was open
    not finite, saturated, stuck      readings that are no readings
The first three are about times, and there is no window then. The others are about readings: the
window comes without signals and says so, because what a sensor read must not decide how many
windows there are.
Samples from before the end of the last complete window are refused ("stale"): a clock that goes
back, or a file read twice, never makes a window a second time. A sample in the same millisecond as
the one before is ignored ("repeated"), and so is one which comes when the other sensor is so far
ahead that its windows have been given up ("behind"). All this is decided by the times alone, never
by readings: a changed reading reaches no further than its own windows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from edge_agent.signal.grid import HOP, RATE, WINDOW, positions_of, span_of, tick, unit_records
from edge_agent.signal.separation import separate
from edge_agent.signal.track import MAX_GAP_SECONDS, Track, timing_fault, to_grid, value_fault
from fsir.arrays import Matrix

# Full scale of the sensors behind the UCI set. Give those of your own: beyond them a peak is cut
# off.
ACC_RANGE_G = 2.0
GYRO_RANGE_RAD_PER_S = 10.0
# How far one sensor may run ahead of the other before the windows in between are given up.
MAX_LAG_CELLS = WINDOW
# Rows taken at a time, so that a long recording needs no more memory than a stream.
PIECE_ROWS = 1024


@dataclass(frozen=True)
class Window:
    """The signals of one window, in the order of `edge_agent.signal.features.CHANNELS`.

    9 x 128, or 9 x 129 if a margin holds the next sample; none if its readings have a `fault`.
    """

    index: int
    signals: Matrix
    fault: str = ""

    @property
    def start(self) -> float:
        """Seconds since the epoch."""
        return span_of(self.index)[0]


class Windower:
    """Takes samples as they come, in pieces of any size; gives back the windows they complete.

    margin: cells on either side of a window that its filters may see.
    since: refuse samples before this time (seconds since the epoch): the `done` of an earlier run.
    """

    def __init__(
        self,
        margin: int = 0,
        acc_range: float = ACC_RANGE_G,
        gyro_range: float = GYRO_RANGE_RAD_PER_S,
        since: float = -np.inf,
    ) -> None:
        self.unit_records = unit_records(margin)
        self.dropped: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._margin = margin
        self._cells = WINDOW + 2 * margin
        self._acc = Track()
        self._gyro = Track()
        self._scales = (acc_range, gyro_range)
        self._done = since * RATE
        self._next: int | None = None

    @property
    def done(self) -> float:
        """Until when (seconds since the epoch) samples are over.

        Those before this time are part of a complete window, or were refused.
        """
        return self._done / RATE

    # --- samples ----------------------------------------------------------------------------------

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
        cuts = sorted({*range(0, len(positions), PIECE_ROWS), *falls, len(positions)})
        windows: list[Window] = []
        for low, high in pairwise(cuts):
            piece = [(track, values[low:high]) for track, values in samples]
            self._take(positions[low:high], piece)
            windows += self._collect()
        return windows

    def _take(self, positions: Matrix, piece: list[tuple[Track, Matrix]]) -> None:
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
        # A clock that goes back brings stale samples until it is where it was, and goes on as if
        # nothing had been.
        behind = max(track.behind for track, _ in piece)
        caught_up = positions[skip] - behind <= MAX_GAP_SECONDS * RATE
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
        """Forget what is open.

        Windows that were open stay dropped, unless the clock left them far behind.
        """
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

    # --- windows ----------------------------------------------------------------------------------

    def _collect(self) -> list[Window]:
        windows: list[Window] = []
        while self._next is not None and self._can_decide(self._next):
            if (window := self._decide(self._next)) is not None:
                windows.append(window)
            self._next = self._following(self._next)
        return windows

    def _can_decide(self, index: int) -> bool:
        """Whether both sensors are past a window, or one is so far past that it is given up."""
        end = index * HOP + WINDOW + self._margin
        last = (self._acc.last, self._gyro.last)
        return min(last) >= end or max(last) >= end + MAX_LAG_CELLS

    def _following(self, index: int) -> int:
        """The next window with samples; what only earlier ones needed is forgotten."""
        tracks = (self._acc, self._gyro)
        for track in tracks:
            track.forget((index + 1) * HOP - self._margin)
        oldest = [track.positions[0] for track in tracks if len(track.positions)]
        return max(index + 1, self._first_touching(min(oldest)) if oldest else 0)

    def _decide(self, index: int) -> Window | None:
        first = index * HOP - self._margin
        cuts = [track.cut(first, self._cells) for track in (self._acc, self._gyro)]
        late = [timing_fault(at, self._cells) for at, _ in cuts]
        if fault := late[0] or late[1]:
            if any(len(at) for at, _ in cuts):
                self.dropped[fault] += 1
            return None
        # Set by the times alone: whether a reading is good must not decide which later samples are
        # stale.
        self._done = first + self._cells
        wrong = [
            value_fault(at, values, top)
            for (at, values), top in zip(cuts, self._scales, strict=True)
        ]
        if fault := wrong[0] or wrong[1]:
            self.dropped[fault] += 1
            return Window(index, np.empty((0, 0)), fault)
        acc, gyro = (to_grid(at, values, self._cells) for at, values in cuts)
        return Window(index, separate(acc, gyro, self._margin))
