"""The exact sum of many releases: what an estimate starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Integers, Matrix
from fsir.privacy.codes import CODE_UNIT
from fsir.privacy.plan import Stage
from fsir.privacy.release import Release

_CONTRADICTION_SIGMAS = 3.0  # counts that lack more than this contradict the number of records


class Totals:
    """The exact sum of releases of one stage.

    It is the same bits in any order, and any of them can be taken out again.

    Parameters
    ----------
    stage
        The stage that all releases are of.

    Attributes
    ----------
    n : int
        Records in all, null ones included.
    devices : int
        Releases in all.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> moments = fsir.Moments(task, fsir.first_stage(task))
    >>> moments.learn_many([[1.0, 0.5], [0.0, -0.5]] * 50, ["yes", "no"] * 50)
    >>> totals = fsir.Totals(moments.stage)
    >>> for device in range(3):  # who happen to have the same records
    ...     totals.add(fsir.release(moments, fsir.SeededNoise(device)))
    >>> totals.devices, totals.n, totals.second().shape
    (3, 300, (2, 2))
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.n = 0
        self.devices = 0
        # Where outer reports have been cut off (`fsir.estimate.trimming`): what one integer left
        # stands for, and by what factor the variance of a value is larger than that of the exact
        # sum.
        self.scale = 1.0
        self.inflation = 1.0
        # Whole numbers, except where rounds are added up with weights (`fsir.estimate.rounds`).
        self.blocks: tuple[NDArray[Any], ...] = tuple(
            np.zeros(block.size, np.int64) for block in stage.blocks
        )
        # The variance of the noise of a value, over that of one report; None: there is one report
        # of each device, and nothing else.
        self.noise: float | None = None

    def add(self, release: Release, times: int = 1) -> None:
        """Add a release, or with `times = -1` take it out."""
        sizes = [block.shape for block in release.blocks]
        # Before anything is added: numpy would stretch a block of 1.
        if sizes != [total.shape for total in self.blocks]:
            raise ValueError(f"a release with blocks {sizes} does not belong to this stage")
        for total, block in zip(self.blocks, release.blocks, strict=True):
            total += times * block
        self.n += times * release.n
        self.devices += times

    @property
    def noises(self) -> float:
        """How many times the noise of a single report the totals bear."""
        return self.devices if self.noise is None else self.noise

    @property
    def accepted(self) -> int:
        """How many records were learned, of those that the reports are about.

        Refused ones are null: only the noisy counts tell how many there were. Where these agree
        with the number of all records within their noise, that is the better figure.
        """
        stage = self.stage
        if not stage.offered or not stage.counts.size:
            return self.n
        counted = float(self.counts().sum())
        sd = (self.inflation * self.noises * stage.slices * stage.counts.variance) ** 0.5
        if self.n - counted <= _CONTRADICTION_SIGMAS * sd:
            return self.n
        return max(1, round(counted))

    def _block(self, index: int) -> Matrix:
        return self.blocks[index].astype(np.float64) * (self.stage.blocks[index].worth * self.scale)

    def sums(self) -> Matrix:
        """Noisy slice sums, features x columns, in the standardised units of the task."""
        # A code of length 1 is CODE_UNIT integers long, which `unit` of the block accounts for.
        return self._block(0).reshape(self.stage.p, self.stage.columns)

    def counts(self) -> Matrix:
        """Noisy records per slice."""
        return self._block(1)

    def second(self) -> Matrix:
        """Noisy second moment, features x features."""
        p = self.stage.p
        T = np.zeros((p, p))
        T[np.triu_indices(p, 1)] = self._block(3)
        T = T + T.T
        T[np.diag_indices(p)] = self._block(2)
        return T

    def code(self) -> Matrix:
        """The response code, slices x columns; the identity where there is none."""
        stage = self.stage
        return np.array(stage.code) / CODE_UNIT if stage.code else np.eye(stage.slices)


def opened_totals(stage: Stage, values: Integers, devices: int, cohorts: int, n: int) -> Totals:
    """What an estimate starts from where two aggregators have opened sums.

    `values` are the opened vectors of so many cohorts, added up, of `devices` in all with `n`
    records in all. Each cohort brings the noise of two aggregators, who each add what `cohort`
    devices would. (The rounding of theirs is taken for that of so many devices: at most 1.4% more
    variance than there is.)
    """
    totals = Totals(stage)
    totals.devices = devices
    totals.n = n
    totals.noise = totals.devices + 2.0 * (stage.cohort or 0) * cohorts
    for block, span in zip(totals.blocks, stage.spans, strict=True):
        block[...] = values[span]
    return totals
