"""Where to read a recording again so that the same windows come, and which label a window has.

A window depends on its own samples and on what the windower still remembers of earlier ones: the time up to which
samples are stale. Reading again from the first sample of window k on makes window k once more, and with it the same
memory as before, as long as no sample was refused as stale and the clock did not go back since that sample: then no
memory of earlier samples was used. Where it was, the place stays where it was last safe. So what follows a resumed
window is what would have followed it without the interruption, in any file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_agent.signal.windows import HOP, TICKS_PER_CELL, WINDOW, tick

Array = NDArray[np.float64]

# A window holds at most WINDOW * TICKS_PER_CELL samples; even if each had another label, all of them are known.
_LABELS = 2 * WINDOW * TICKS_PER_CELL


class Trail:
    """Follows the samples that a windower accepts, run by run; a run is a stretch in which time rises."""

    def __init__(self, start: Any = None) -> None:
        self._safe = start
        self._starts: deque[tuple[int, Any, int]] = deque(
            maxlen=4
        )  # block, cursor before its first sample, troubles
        self._labels: deque[tuple[float, float, str]] = deque(
            maxlen=_LABELS
        )  # first and last position, label
        self._newest = -np.inf
        self._troubles = 0

    def runs(self, positions: Array) -> list[tuple[int, int]]:
        """Cut samples into runs, each of which ends with the first sample of a block of 64 cells: one window each."""
        ticks, blocks = tick(positions), np.floor(positions / HOP)
        falls = np.flatnonzero(ticks[1:] <= ticks[:-1]) + 1
        borders = np.flatnonzero(np.diff(blocks, prepend=np.floor(self._newest / HOP))) + 1
        return list(pairwise(sorted({0, *falls.tolist(), *borders.tolist(), len(positions)})))

    def follow(
        self,
        positions: Array,
        behind: Sequence[Any],
        labels: Sequence[str] | None,
        stale: int,
        repeated: int,
    ) -> None:
        """One run was pushed: its first `stale` samples were refused, and `repeated` (0 or 1) after them."""
        if stale:
            self._troubles += 1
        taken = stale + repeated
        if taken == len(positions):
            return
        if tick(positions[taken]) < tick(self._newest):
            self._troubles += 1  # the clock went back: the windower has forgotten what was open
            self._starts.clear()
            self._labels.clear()
        for i in range(taken, len(positions)):
            block = int(positions[i] // HOP)
            if not self._starts or block > self._starts[-1][0]:
                self._starts.append((block, behind[i], self._troubles))
            if labels is not None:
                self._label(float(positions[i]), labels[i])
        self._newest = float(positions[-1])

    def _label(self, position: float, label: str) -> None:
        if self._labels and self._labels[-1][2] == label:
            self._labels[-1] = (self._labels[-1][0], position, label)
        else:
            self._labels.append((position, position, label))

    def cursor(self, index: int) -> Any:
        """From where to read to continue behind this window, which has just been made."""
        for block, behind, troubles in self._starts:
            if block == index and troubles == self._troubles:
                self._safe = behind
        return self._safe

    def label(self, index: int) -> str | None:
        """The label that all samples of a window have, if they have the same one."""
        first = index * HOP
        while self._labels and self._labels[0][1] < first:
            self._labels.popleft()
        found = {label for begin, _, label in self._labels if begin < first + WINDOW}
        return next(iter(found)) or None if len(found) == 1 else None
