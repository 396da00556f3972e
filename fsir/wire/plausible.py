"""What a task makes impossible: reports that no honest device can have sent.

A record has coordinates of at most `reach = min(R, C)` and norm of at most `C`, so the exact sums
of n records obey

    |sum_jh| <= n reach           norm of all sums <= n C
    0 <= count_h <= n             the counts add up to n (to at most n if null records count)
    0 <= second_jj <= n reach^2   trace <= n C^2
    |second_jk| <= n min(reach^2, C^2/2)   norm of the upper triangle <= n C^2/sqrt(2)

(with a response code of length at most 1 the first line holds as it stands). What is published
differs from the exact sum by noise of known standard deviation and by rounding of at most one
published step. Eight tests, one for each inequality, each with a margin that honest noise exceeds
with probability at most 1e-10, so that **an honest report is refused with probability below 1e-9**:

- one coordinate out of m: `z sd` with `2 m P(Z > z) = 1e-10` (union bound);
- a norm: `(sqrt(m) + t) sd` with `exp(-t^2/2) = 1e-10` (the norm is 1-Lipschitz with mean at most
  sqrt(m): Gaussian concentration);
- a total: `z sqrt(m) sd` with `2 P(Z > z) = 1e-10`.

The noise comes from a sampler that is the inverse normal of a tail probability with 53 significant
bits; its values are those of a normal to a relative 1e-9, which the slack below covers. For `vgm`
the noise depends on the data: its variance on a slice mean is at most the floor plus C, the largest
singular value that there can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.privacy.plan import Block, Stage, minimum_size, report_size
from fsir.task.task import Task

FALSE_ALARM = 1e-10  # of each of the eight tests
_SLACK = 1e-9


def allowed_sizes(task: Task) -> tuple[int, int]:
    """Fewest and most records that a report may be about.

    They are one exact number, unless the task has a deadline.
    """
    most = report_size(task)
    return (most if task.report.deadline is None else min(minimum_size(task), most)), most


def implausible(stage: Stage, n: int, blocks: Sequence[Integers]) -> str | None:
    """Why no honest device can have sent these blocks about n records, or None."""
    sizes = tuple(len(block) for block in blocks)
    if sizes != stage.sizes:
        return f"blocks of {sizes} values where {stage.sizes} are expected"
    return Plausibility(stage).faults(np.array([n]), np.concatenate(blocks)[None, :]).get(0)


class _Part(NamedTuple):
    """One block of many reports: its values, and the standard deviation of their noise."""

    block: Block
    values: Integers  # reports x size
    sd: Matrix  # one for each report


class _Tested(NamedTuple):
    """The smallest and the largest value that is tested, and the margin that noise needs."""

    low: Matrix
    high: Matrix
    margin: Matrix


class Plausibility:
    """The eight tests of one stage, on many reports at once; a `false_alarm` for each."""

    def __init__(self, stage: Stage, false_alarm: float = FALSE_ALARM) -> None:
        self._stage = stage
        self._spans = stage.spans
        self._t = math.sqrt(-2.0 * math.log(false_alarm))
        self._z = _quantile(false_alarm / 2)
        self._z_of_largest = {
            block.name: _quantile(false_alarm / (2 * max(1, block.size))) for block in stage.blocks
        }

    def faults(self, n: Integers, rows: Integers) -> dict[int, str]:
        """What is wrong, by row.

        `rows` are integer vectors in the public layout, `n` their numbers of records.
        """
        stage = self._stage
        N = n.astype(np.float64)
        faults = _Faults()
        sums, counts, diagonal, off_diagonal = self._parts(N, rows)
        self._test_sums(faults, sums, N)
        if stage.counts.size:
            self._test_counts(faults, counts, N)
        if stage.has_second:
            self._test_diagonal(faults, diagonal, N)
        if stage.off_diagonal.size:
            self._test_off_diagonal(faults, off_diagonal, N)
        return faults.texts

    def _parts(self, N: Matrix, rows: Integers) -> list[_Part]:
        stage = self._stage
        pairs = zip(stage.blocks, self._spans, strict=True)
        spread = stage.factorisation.spread
        parts = [
            _Part(block, rows[:, span], spread * block.sd + np.zeros_like(N))
            for block, span in pairs
        ]
        by_vgm = N * N * stage.norm if stage.mechanism == "vgm" else np.zeros_like(N)
        parts[0] = parts[0]._replace(sd=np.sqrt(stage.sums.sd**2 + by_vgm))
        return parts

    def _test_sums(self, faults: _Faults, part: _Part, N: Matrix) -> None:
        C = self._stage.norm
        reach = min(self._stage.truncate, C)
        faults.outside("a slice sum", self._largest(part), -N * reach, N * reach)
        faults.outside("the norm of the slice sums", self._norm(part), 0.0, N * C)

    def _test_counts(self, faults: _Faults, part: _Part, N: Matrix) -> None:
        faults.outside("a slice count", self._largest(part), 0.0, N)
        fewest = 0.0 if self._stage.offered else N
        faults.outside("the total of the counts", self._total(part), fewest, N)

    def _test_diagonal(self, faults: _Faults, part: _Part, N: Matrix) -> None:
        C = self._stage.norm
        reach = min(self._stage.truncate, C)
        faults.outside("a second moment", self._largest(part), 0.0, N * reach**2)
        faults.outside("the trace of the second moment", self._total(part), 0.0, N * C * C)

    def _test_off_diagonal(self, faults: _Faults, part: _Part, N: Matrix) -> None:
        C = self._stage.norm
        reach = min(self._stage.truncate, C)
        most = N * min(reach**2, C * C / 2)
        faults.outside("a mixed second moment", self._largest(part), -most, most)
        longest = N * C * C / math.sqrt(2.0)
        faults.outside("the norm of the mixed second moments", self._norm(part), 0.0, longest)

    def _largest(self, part: _Part) -> _Tested:
        worth = part.block.worth
        return _Tested(
            part.values.min(axis=1) * worth,
            part.values.max(axis=1) * worth,
            self._z_of_largest[part.block.name] * part.sd + worth,
        )

    def _norm(self, part: _Part) -> _Tested:
        worth = part.block.worth
        floats = part.values.astype(np.float64)
        norm: Matrix = np.sqrt(np.einsum("ij,ij->i", floats, floats)) * worth
        root = math.sqrt(part.block.size)
        return _Tested(norm, norm, (root + self._t) * part.sd + root * worth)

    def _total(self, part: _Part) -> _Tested:
        size = part.block.size
        worth = part.block.worth
        total: Matrix = part.values.sum(axis=1, dtype=np.float64) * worth
        return _Tested(total, total, self._z * math.sqrt(size) * part.sd + size * worth)


class _Faults:
    """The first fault of each row."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    def outside(self, what: str, tested: _Tested, least: Matrix | float, most: Matrix) -> None:
        """Note the rows whose values leave `least` to `most` by more than the margin."""
        margin = tested.margin + _SLACK * (np.abs(least) + most + tested.margin)
        lowest = least - margin
        highest = most + margin
        bad = (tested.low < lowest) | (tested.high > highest)
        for row in np.flatnonzero(bad).tolist():
            above = tested.high[row] > highest[row]
            value = tested.high[row] if above else tested.low[row]
            text = f"{what} is {value:.6g}, outside of [{lowest[row]:.6g}, {highest[row]:.6g}]"
            self.texts.setdefault(row, text)


def _quantile(tail: float) -> float:
    return -NormalDist().inv_cdf(tail)
