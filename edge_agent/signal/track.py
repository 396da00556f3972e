"""The samples of one three-axis sensor that undecided windows still need, and their faults.

Positions are times in cells of the public grid, see `edge_agent.signal.grid`.
"""

from __future__ import annotations

import numpy as np

from edge_agent.signal.grid import RATE
from fsir.arrays import Matrix

# Two lost samples in a row, or a hiccup as long, are bridged by interpolation; more is a stall.
MAX_GAP_SECONDS = 0.06
# Of the samples that 50 Hz would give. A slower sensor has no content up to 20 Hz to speak of.
MIN_SHARE = 0.9
# Of the cells, with a sample of their own. Jitter leaves some empty, a sensor that dates its
# samples by the batch most.
MIN_CELLS = 0.5
# No sensor at rest gives the very same triple for so long: its noise is larger than its last bit.
MAX_SAME_SECONDS = 0.125
# A clipped peak has lost its height; sensors clip a little below their nominal range.
FULL_SCALE = 0.995


class Track:
    """Samples with rising positions; the caller keeps them rising."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.positions: Matrix = np.empty(0)
        self.values: Matrix = np.empty((0, 3))
        self.last = -np.inf
        self.behind = -np.inf  # the last sample since then that was refused as older

    def append(self, positions: Matrix, values: Matrix) -> None:
        """Samples that come after those that are here."""
        self.positions = np.concatenate([self.positions, positions])
        self.values = np.concatenate([self.values, values])
        self.last = float(positions[-1])
        self.behind = -np.inf

    def forget(self, before: int) -> int:
        """Drop what lies before a cell, and say how many; the copies let go of the memory."""
        if gone := int(np.searchsorted(self.positions, before)):
            self.positions = self.positions[gone:].copy()
            self.values = self.values[gone:].copy()
        return gone

    def cut(self, first: int, cells: int) -> tuple[Matrix, Matrix]:
        """Samples in `cells` cells from `first` on, with positions counted from `first`."""
        low, high = np.searchsorted(self.positions, (first, first + cells))
        return self.positions[low:high] - first, self.values[low:high]


def timing_fault(positions: Matrix, cells: int) -> str | None:
    """Why these samples don't cover the cells, if they don't."""
    if not len(positions):
        return "gap"
    gaps = np.diff(positions, prepend=0.0, append=float(cells))
    if gaps.max() > MAX_GAP_SECONDS * RATE:
        return "gap"
    # Positions rise, so counting changes will do; np.unique would take 0.7 MB of code.
    held = 1 + np.count_nonzero(np.diff(positions.astype(np.intp)))
    return "sparse" if len(positions) < MIN_SHARE * cells or held < MIN_CELLS * cells else None


def value_fault(positions: Matrix, values: Matrix, full_scale: float) -> str | None:
    """Why these readings can't be believed, if they can't."""
    if not np.isfinite(values).all():
        return "not finite"
    if np.abs(values).max() >= FULL_SCALE * full_scale:
        return "saturated"
    changed = np.flatnonzero((values[1:] != values[:-1]).any(axis=1)) + 1
    first = np.append(0, changed)
    last = np.append(changed, len(values)) - 1
    longest = (positions[last] - positions[first]).max()
    return "stuck" if longest > MAX_SAME_SECONDS * RATE else None


def to_grid(positions: Matrix, values: Matrix, cells: int) -> Matrix:
    """Values at the centres of the cells, joined by cubic curves.

    Samples that share a cell are averaged first. Straight lines would lose a fifth of what moves
    at 10 Hz if the sensor ticks halfway between the centres, and nothing if it ticks on them. The
    slope at a sample is that between its neighbours: jitter can't make it steep.
    """
    cell = np.minimum(positions.astype(np.intp), cells - 1)
    count = np.bincount(cell, minlength=cells)
    held = np.flatnonzero(count)
    x = np.bincount(cell, positions, cells)[held] / count[held]
    means = [np.bincount(cell, column, cells)[held] / count[held] for column in values.T]
    y = np.stack(means, axis=1)
    slope = np.gradient(y, axis=0) / np.gradient(x)[:, None]
    # Before the first sample and after the last the value is held: a curve would be a guess.
    at = np.clip(np.arange(cells) + 0.5, x[0], x[-1])
    left = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    width = np.diff(x)[left]
    t = ((at - x[left]) / width)[:, None]
    tangent = width[:, None] * ((1 - t) * slope[left] - t * slope[left + 1])
    step = y[left + 1] - y[left]
    curved: Matrix = y[left] + t * step + t * (1 - t) * (tangent - (1 - 2 * t) * step)
    return curved
