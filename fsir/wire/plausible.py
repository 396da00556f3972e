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

The noise comes from a sampler that is the inverse normal of a tail probability with 53 significant bits; its values
are those of a normal to a relative 1e-9, which the slack below covers. For `vgm` the noise depends on the data: its
variance on a slice mean is at most the floor plus C, the largest singular value that there can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.privacy.plan import Stage, minimum_size, report_size
from fsir.task.task import Task

FALSE_ALARM = 1e-10  # of each of the eight tests
_SLACK = 1e-9

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]


def allowed_sizes(task: Task) -> tuple[int, int]:
    """Fewest and most records that a report may be about: one exact number, unless the task has a deadline."""
    most = report_size(task)
    return (most if task.report.deadline is None else min(minimum_size(task), most)), most


def implausible(stage: Stage, n: int, blocks: Sequence[Integers]) -> str | None:
    """Why no honest device can have sent these blocks about n records, or None."""
    found, expected = (
        tuple(len(block) for block in blocks),
        tuple(block.size for block in stage.blocks),
    )
    if found != expected:
        return f"blocks of {found} values where {expected} are expected"
    return Plausibility(stage).faults(np.array([n]), np.concatenate(blocks)[None, :]).get(0)


class Plausibility:
    """The eight tests of one stage, on many reports at once; a `false_alarm` for each."""

    def __init__(self, stage: Stage, false_alarm: float = FALSE_ALARM) -> None:
        self._stage = stage
        self._t = math.sqrt(-2.0 * math.log(false_alarm))
        self._z = _quantile(false_alarm / 2)
        self._z_of_largest = [
            _quantile(false_alarm / (2 * max(1, block.size))) for block in stage.blocks
        ]
        ends = np.cumsum([block.size for block in stage.blocks]).tolist()
        self._columns = [
            slice(end - block.size, end) for block, end in zip(stage.blocks, ends, strict=True)
        ]

    def faults(self, n: Integers, rows: Integers) -> dict[int, str]:
        """What is wrong, by row; `rows` are integer vectors in the public layout, `n` their numbers of records."""
        stage, C, N = self._stage, self._stage.norm, n.astype(np.float64)
        reach, nothing = min(stage.truncate, C), np.zeros_like(N)
        sd = np.sqrt(stage.sums.sd**2 + (N * N * C if stage.mechanism == "vgm" else nothing))
        found = _Faults()
        sums, counts, diagonal, off_diagonal = (rows[:, columns] for columns in self._columns)
        found.outside("a slice sum", *self._largest(0, sums, sd), -N * reach, N * reach)
        found.outside("the norm of the slice sums", *self._norm(0, sums, sd), nothing, N * C)
        if stage.counts.size:
            sd = stage.counts.sd + nothing
            found.outside("a slice count", *self._largest(1, counts, sd), nothing, N)
            found.outside("the total of the counts", *self._total(1, counts, sd), N, N)
        if stage.has_second:
            sd = stage.diagonal.sd + nothing
            found.outside("a second moment", *self._largest(2, diagonal, sd), nothing, N * reach**2)
            found.outside(
                "the trace of the second moment", *self._total(2, diagonal, sd), nothing, N * C * C
            )
        if stage.off_diagonal.size:
            sd, most = stage.off_diagonal.sd + nothing, N * min(reach**2, C * C / 2)
            found.outside("a mixed second moment", *self._largest(3, off_diagonal, sd), -most, most)
            found.outside(
                "the norm of the mixed second moments",
                *self._norm(3, off_diagonal, sd),
                nothing,
                N * C * C / math.sqrt(2.0),
            )
        return found.texts

    # Each of these returns the smallest and the largest value that is tested, and the margin that noise needs.

    def _largest(
        self, index: int, values: Integers, sd: Numbers
    ) -> tuple[Numbers, Numbers, Numbers]:
        worth = self._stage.blocks[index].worth
        return (
            values.min(axis=1) * worth,
            values.max(axis=1) * worth,
            self._z_of_largest[index] * sd + worth,
        )

    def _norm(self, index: int, values: Integers, sd: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        block, floats = self._stage.blocks[index], values.astype(np.float64)
        norm: Numbers = np.sqrt(np.einsum("ij,ij->i", floats, floats)) * block.worth
        root = math.sqrt(block.size)
        return norm, norm, (root + self._t) * sd + root * block.worth

    def _total(self, index: int, values: Integers, sd: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        block = self._stage.blocks[index]
        total: Numbers = values.sum(axis=1, dtype=np.float64) * block.worth
        return total, total, self._z * math.sqrt(block.size) * sd + block.size * block.worth


class _Faults:
    """The first fault of each row."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    def outside(
        self, what: str, low: Numbers, high: Numbers, margin: Numbers, least: Numbers, most: Numbers
    ) -> None:
        """Note the rows whose values, from `low` to `high`, leave `least` to `most` by more than the margin."""
        margin = margin + _SLACK * (np.abs(least) + most + margin)
        least, most = least - margin, most + margin
        bad: NDArray[Any] = (low < least) | (high > most)
        for row in np.flatnonzero(bad).tolist():
            value = high[row] if high[row] > most[row] else low[row]
            self.texts.setdefault(
                row, f"{what} is {value:.6g}, outside of [{least[row]:.6g}, {most[row]:.6g}]"
            )


def _quantile(tail: float) -> float:
    return -NormalDist().inv_cdf(tail)
