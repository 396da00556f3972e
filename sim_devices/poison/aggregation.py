"""Ways to put reports together: the two that a task may ask for, and a third one that was studied.

All of them work coordinate by coordinate on `... x devices x width` and return the mean report of a
device. A bounded one needs every report by itself, and it is less accurate when nobody lies:
`inflation` is the factor on the variance that this costs for normal noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate import trimming as aggregation
from fsir.task.task import TRIMMED


class Aggregation(ABC):
    """From reports to the mean report."""

    name: str

    @abstractmethod
    def __call__(self, rows: Matrix) -> Matrix:
        """The mean report of a device, or what stands for it."""

    @abstractmethod
    def inflation(self, devices: int) -> float:
        """Variance of the result over that of the plain mean, if nobody lies."""


@dataclass(frozen=True)
class Plain(Aggregation):
    """The mean: the default. One device moves it by its report over the number of devices."""

    name: str = "sum"

    def __call__(self, rows: Matrix) -> Matrix:
        return np.asarray(rows.mean(axis=-2))

    def inflation(self, devices: int) -> float:
        return 1.0


@dataclass(frozen=True)
class Trimmed(Aggregation):
    """The mean without the lowest and the highest quarter of the values, in every coordinate."""

    name: str = TRIMMED

    def __call__(self, rows: Matrix) -> Matrix:
        devices = rows.shape[-2]
        return np.asarray(
            aggregation.trimmed_sum(rows.swapaxes(-1, -2))
            / (devices - 2 * aggregation.cut(devices))
        )

    def inflation(self, devices: int) -> float:
        return aggregation.inflation(devices)


@dataclass(frozen=True)
class GroupMedian(Aggregation):
    """The median over groups of the mean in each group, in every coordinate."""

    size: int = 3
    name: str = "groups"

    def __call__(self, rows: Matrix) -> Matrix:
        groups = max(1, rows.shape[-2] // self.size)
        means = [part.mean(axis=-2) for part in np.array_split(rows, groups, axis=-2)]
        return np.asarray(np.median(np.stack(means, axis=-2), axis=-2))

    def inflation(self, devices: int) -> float:
        return math.pi / 2.0


AGGREGATIONS: dict[str, Aggregation] = {
    made.name: made for made in (Plain(), Trimmed(), GroupMedian())
}
