"""A fleet that nobody has asked: what reports add up to, once the sums of its records are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate import trimming
from fsir.estimate.totals import Totals
from fsir.privacy.plan import Stage
from fsir.task.secure import Secure
from fsir.task.task import TRIMMED, Task


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Devices that report at one stage, all at once."""

    stage: Stage
    records: int  # of all devices
    devices: int
    inflation: float  # of all noise, by trimming
    added: float  # noise of two aggregators, in noises of a device

    @classmethod
    def of(cls, task: Task, stage: Stage, n: int, devices: int) -> Fleet:
        """So many devices with `n` records each."""
        trimmed = task.aggregation == TRIMMED
        inflation = trimming.inflation(devices) if trimmed else 1.0
        if task.secure is not None:
            inflation = trimming.inflation_of_groups(task.secure.groups)
        return cls(
            stage=stage,
            records=n * devices,
            devices=devices,
            inflation=inflation,
            added=0.0 if task.secure is None else _added(task.secure, devices),
        )

    @property
    def more(self) -> float:
        """What trimming multiplies the standard deviation of anything random with."""
        return math.sqrt(self.inflation)

    def totals(self, exact: Mapping[str, Matrix], rng: np.random.Generator) -> Totals:
        """What its reports add up to, if the sums over all records are these, by block."""
        totals = Totals(self.stage)
        totals.n = self.records
        totals.devices = self.devices
        totals.inflation = self.inflation
        totals.noise = self.devices + self.added
        for block, total in zip(self.stage.blocks, totals.blocks, strict=True):
            sd = self.more * block.sd * math.sqrt(totals.noises)
            noise = sd * rng.normal(size=block.size)
            total[...] = np.rint((exact[block.name] + noise) / block.worth).astype(np.int64)
        return totals


def _added(secure: Secure, devices: int) -> float:
    """What aggregators add if every group is opened as soon as it has a cohort."""
    cohorts = max(1, devices // secure.groups // secure.cohort)
    return 2.0 * secure.cohort * secure.groups * cohorts
