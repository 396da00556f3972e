"""Where to read a recording again so that the same windows come, and which label a window has.

A window depends on its own samples and on what the windower still remembers of earlier ones: the
time up to which samples are stale. Reading again from the first sample of window k on makes window
k once more, and with it the same memory as before, as long as no sample was refused as stale and
the clock did not go back since that sample: then no memory of earlier samples was used. Where it
was, the place stays where it was last safe. So what follows a resumed window is what would have
followed it without the interruption, in any file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from edge_agent.signal.grid import HOP, TICKS_PER_CELL, WINDOW, tick
from fsir.arrays import Matrix

# A window holds at most WINDOW * TICKS_PER_CELL samples; even if each had another label, all of
# them are known.
_MOST_LABELS = 2 * WINDOW * TICKS_PER_CELL


class _Start(NamedTuple):
    """Where the samples of a block of 64 cells begin."""

    block: int
    behind: Any  # cursor before its first sample
    troubles: int  # so far


class _Stretch(NamedTuple):
    """Samples in a row that have the same label."""

    first: float  # position
    last: float
    label: str


class Trail:
    """Follows the samples that a windower accepts, run by run.

    A run is a stretch in which time rises.
    """

    def __init__(self, start: Any = None) -> None:
        self._safe = start
        self._starts: deque[_Start] = deque(maxlen=4)
        self._labels: deque[_Stretch] = deque(maxlen=_MOST_LABELS)
        self._newest = -np.inf
        self._troubles = 0

    def runs(self, positions: Matrix) -> list[tuple[int, int]]:
        """Cut samples into runs.

        Each ends with the first sample of a block of 64 cells: one window each.
        """
        ticks = tick(positions)
        blocks = np.floor(positions / HOP)
        falls = np.flatnonzero(ticks[1:] <= ticks[:-1]) + 1
        borders = np.flatnonzero(np.diff(blocks, prepend=np.floor(self._newest / HOP))) + 1
        return list(pairwise(sorted({0, *falls.tolist(), *borders.tolist(), len(positions)})))

    def follow(
        self,
        positions: Matrix,
        behind: Sequence[Any],
        labels: Sequence[str] | None,
        stale: int,
        repeated: int,
    ) -> None:
        """One run was pushed.

        Its first `stale` samples were refused, and `repeated` (0 or 1) after them.
        """
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
            if not self._starts or block > self._starts[-1].block:
                self._starts.append(_Start(block, behind[i], self._troubles))
            if labels is not None:
                self._label(float(positions[i]), labels[i])
        self._newest = float(positions[-1])

    def _label(self, position: float, label: str) -> None:
        if self._labels and self._labels[-1].label == label:
            self._labels[-1] = self._labels[-1]._replace(last=position)
        else:
            self._labels.append(_Stretch(position, position, label))

    def cursor(self, index: int) -> Any:
        """From where to read to continue behind this window, which has just been made."""
        for start in self._starts:
            if start.block == index and start.troubles == self._troubles:
                self._safe = start.behind
        return self._safe

    def label(self, index: int) -> str | None:
        """The label that all samples of a window have, if they have the same one."""
        first = index * HOP
        while self._labels and self._labels[0].last < first:
            self._labels.popleft()
        labels = {one.label for one in self._labels if one.first < first + WINDOW}
        return next(iter(labels)) or None if len(labels) == 1 else None
