"""The public 50 Hz grid on which windows lie, the same on every device.

Positions are times in cells of the grid: cell c is the time from c/50 to (c+1)/50 s since the
epoch. Window k has 128 cells and begins with cell 64 k, 1.28 k seconds after the epoch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fsir.arrays import Matrix

RATE = 50  # samples, or cells, a second
WINDOW = 128  # cells
HOP = 64  # cells from one window to the next
# Samples closer than this have no order that a sensor's clock can vouch for; it also bounds what a
# window can hold.
TICKS_PER_CELL = 20


def unit_records(margin: int = 0, lasts: float = 0.0) -> int:
    """How many windows one sample can touch.

    Those whose 128 cells and two margins contain its time, or one of its times if the same reading
    comes again for up to `lasts` cells.

    >>> [unit_records(margin) for margin in (0, 1, 32, 33)]
    [2, 3, 3, 4]
    >>> [unit_records(lasts=cells) for cells in (0, 0.5, 64, 65)]
    [2, 3, 3, 4]
    """
    if margin < 0 or lasts < 0:
        raise ValueError(f"margin {margin}, lasts {lasts}: a number of cells, 0 or more")
    return math.ceil((WINDOW + 2 * margin + lasts) / HOP)


def span_of(index: int) -> tuple[float, float]:
    """The time that a window covers: its begin and its end, in seconds since the epoch."""
    return index * HOP / RATE, (index * HOP + WINDOW) / RATE


def positions_of(times: ArrayLike) -> Matrix:
    """Times (seconds since the epoch) in cells, to a thousandth (20 us).

    A sensor that ticks on the borders of cells must not fall to either side.
    """
    return np.round(np.asarray(times, dtype=np.float64) * RATE, 3)


def block_of(time: float) -> int:
    """The block of 1.28 s, two of which are a window, in which a sample of this time lies."""
    return int(positions_of(time) // HOP)


def tick(position: Any) -> Any:
    """The tick in which a position (or each of an array) lies."""
    return np.floor(position * TICKS_PER_CELL)
