"""What a task makes impossible: reports that no honest device can have sent.

A record has coordinates of at most `reach = min(R, C)` and norm of at most `C`, so the exact sums of n records obey

    |sum_jh| <= n reach           norm of all sums <= n C
    0 <= count_h <= n             the counts add up to n
    0 <= second_jj <= n reach^2   trace <= n C^2
    |second_jk| <= n min(reach^2, C^2/2)   norm of the upper triangle <= n C^2/sqrt(2)

(with a response code of length at most 1 the first line holds as it stands). What is published differs from the exact
sum by noise of known standard deviation and by rounding of at most one published step. Eight tests, one for each
inequality, each with a margin that honest noise exceeds with probability at most 1e-10, so that **an honest report is
refused with probability below 1e-9**:

- one coordinate out of m: `z sd` with `2 m P(Z > z) = 1e-10` (union bound);
- a norm: `(sqrt(m) + t) sd` with `exp(-t^2/2) = 1e-10` (the norm is 1-Lipschitz with mean at most sqrt(m): Gaussian
  concentration);
- a total: `z sqrt(m) sd` with `2 P(Z > z) = 1e-10`.

The noise comes from a sampler that is the inverse normal of a tail probability with 53 significant bits; its tails are
those of a normal to a relative 1e-9, which the relative slack below covers. For `vgm` the noise depends on the data:
its variance on a slice mean is at most the floor plus C, the largest singular value that there can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.plan import Block, Stage, minimum_size, report_size
from fsir.task import Task

FALSE_ALARM = 1e-10  # of each of the eight tests
_SLACK = 1e-9
_Z = -NormalDist().inv_cdf(FALSE_ALARM / 2)
_T = math.sqrt(-2.0 * math.log(FALSE_ALARM))

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]


def allowed_sizes(task: Task) -> tuple[int, int]:
    """Fewest and most records that a report may be about: one exact number, unless the task has a deadline."""
    most = report_size(task)
    return (most if task.report.deadline is None else min(minimum_size(task), most)), most


def implausible(stage: Stage, n: int, blocks: Sequence[Integers]) -> str | None:
    """Why no honest device can have sent these blocks about n records, or None."""
    sizes = tuple(block.size for block in stage.blocks)
    if tuple(len(block) for block in blocks) != sizes:
        return f"blocks of {tuple(len(block) for block in blocks)} values where {sizes} are expected"
    faults = Plausibility(stage).faults(np.array([n]), np.concatenate(blocks)[None, :])
    return faults.get(0)


class Plausibility:
    """The eight tests of one stage, on many reports at once."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._reach = min(stage.truncate, stage.norm)
        ends = np.cumsum([block.size for block in stage.blocks]).tolist()
        self._columns = [slice(end - block.size, end) for block, end in zip(stage.blocks, ends, strict=True)]
        self._coordinate_z = [-NormalDist().inv_cdf(FALSE_ALARM / (2 * max(1, block.size))) for block in stage.blocks]

    def faults(self, n: Integers, rows: Integers) -> dict[int, str]:
        """What is wrong, by row; `rows` are integer vectors in the public layout, `n` their numbers of records."""
        stage, reach, C = self._stage, self._reach, self._stage.norm
        N = n.astype(np.float64)
        found: dict[int, str] = {}
        sd_sums: Numbers | float = stage.sums.sd
        if stage.mechanism == "vgm":
            sd_sums = np.sqrt(stage.sums.sd**2 + N * N * C)
        self._coordinates(found, rows, 0, -N * reach, N * reach, sd_sums, "a slice sum")
        self._norm(found, rows, 0, N * C, sd_sums, "the norm of the slice sums")
        if stage.counts.size:
            self._coordinates(found, rows, 1, 0.0 * N, N, stage.counts.sd, "a slice count")
            self._total(found, rows, 1, N, N, stage.counts.sd, "the total of the counts")
        if stage.has_second:
            self._coordinates(found, rows, 2, 0.0 * N, N * reach**2, stage.diagonal.sd, "a second moment")
            self._total(found, rows, 2, 0.0 * N, N * C * C, stage.diagonal.sd, "the trace of the second moment")
        if stage.off_diagonal.size:
            most = N * min(reach**2, C * C / 2)
            self._coordinates(found, rows, 3, -most, most, stage.off_diagonal.sd, "a mixed second moment")
            self._norm(
                found, rows, 3, N * C * C / math.sqrt(2), stage.off_diagonal.sd, "the norm of the mixed second moments"
            )
        return found

    def _coordinates(
        self,
        found: dict[int, str],
        rows: Integers,
        index: int,
        low: Numbers,
        high: Numbers,
        sd: Numbers | float,
        what: str,
    ) -> None:
        block, values = self._stage.blocks[index], rows[:, self._columns[index]]
        margin = self._coordinate_z[index] * sd + block.worth
        _note(found, values.max(axis=1), low, high, margin, block, what)
        _note(found, values.min(axis=1), low, high, margin, block, what)

    def _norm(
        self, found: dict[int, str], rows: Integers, index: int, high: Numbers, sd: Numbers | float, what: str
    ) -> None:
        block = self._stage.blocks[index]
        values = rows[:, self._columns[index]].astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", values, values))
        root = math.sqrt(block.size)
        _note(found, norms, 0.0 * high, high, (root + _T) * sd + root * block.worth, block, what)

    def _total(
        self, found: dict[int, str], rows: Integers, index: int, low: Numbers, high: Numbers, sd: float, what: str
    ) -> None:
        block = self._stage.blocks[index]
        totals = rows[:, self._columns[index]].astype(np.float64).sum(axis=1)
        margin = _Z * math.sqrt(block.size) * sd + block.size * block.worth
        _note(found, totals, low, high, margin, block, what)


def _note(
    found: dict[int, str],
    values: NDArray[Any],
    low: Numbers,
    high: Numbers,
    margin: Numbers | float,
    block: Block,
    what: str,
) -> None:
    worth = values.astype(np.float64) * block.worth
    margin = margin + _SLACK * (np.abs(low) + high + margin)
    lowest, highest = low - margin, high + margin
    bad = (worth < lowest) | (worth > highest)
    if bad.any():
        for row in np.flatnonzero(bad).tolist():
            found.setdefault(row, f"{what} is {worth[row]:.6g}, outside of [{lowest[row]:.6g}, {highest[row]:.6g}]")
