"""Ways to put reports together: the exact sum that ships, and two whose pull by a single device is bounded.

All of them work coordinate by coordinate on `... x devices x width` and return the mean report of a device. A bounded
one needs every report by itself, and it is less accurate when nobody lies: `inflation` is the factor on the variance
that this costs for normal noise (Huber 1981).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Aggregation(ABC):
    """From reports to the mean report."""

    name: str

    @abstractmethod
    def __call__(self, rows: Array) -> Array:
        """The mean report of a device, or what stands for it."""

    @property
    @abstractmethod
    def inflation(self) -> float:
        """Variance of the result over that of the plain mean, if nobody lies."""


@dataclass(frozen=True)
class Plain(Aggregation):
    """The mean: what ships. One device moves it by its report over the number of devices."""

    name: str = "sum"

    def __call__(self, rows: Array) -> Array:
        return np.asarray(rows.mean(axis=-2))

    @property
    def inflation(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Trimmed(Aggregation):
    """The mean without the lowest and the highest `share` of the values, in every coordinate."""

    share: float = 0.25
    name: str = "trimmed"

    def __call__(self, rows: Array) -> Array:
        cut = int(self.share * rows.shape[-2])
        return np.asarray(np.sort(rows, axis=-2)[..., cut : rows.shape[-2] - cut, :].mean(axis=-2))

    @property
    def inflation(self) -> float:
        normal = NormalDist()
        q, kept = normal.inv_cdf(1.0 - self.share), 1.0 - 2.0 * self.share
        return (kept - 2.0 * q * normal.pdf(q) + 2.0 * self.share * q * q) / kept**2


@dataclass(frozen=True)
class GroupMedian(Aggregation):
    """The median over groups of the mean in each group, in every coordinate."""

    size: int = 3
    name: str = "groups"

    def __call__(self, rows: Array) -> Array:
        groups = max(1, rows.shape[-2] // self.size)
        means = [part.mean(axis=-2) for part in np.array_split(rows, groups, axis=-2)]
        return np.asarray(np.median(np.stack(means, axis=-2), axis=-2))

    @property
    def inflation(self) -> float:
        return math.pi / 2.0


AGGREGATIONS: dict[str, Aggregation] = {made.name: made for made in (Plain(), Trimmed(), GroupMedian())}
