"""Tables that come with scikit-learn, split at random into a public sample, devices, and the rest.

Their records are of no people: what is tested is whether the method does harm where it was not
made for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from sim_devices.datasets.population import DataError, DeviceStream, Population

PUBLIC = "public"  # the stream that is published


@dataclass(frozen=True)
class Shape:
    """How a table is split."""

    public: int  # records
    devices: int
    records: int  # of each device


SHAPES = {
    "digits": Shape(public=150, devices=30, records=41),
    "wine": Shape(public=40, devices=10, records=8),
    "breast_cancer": Shape(public=60, devices=20, records=17),
}


@dataclass(frozen=True, eq=False)
class Table:
    """All records of one table."""

    name: str
    X: Matrix
    y: NDArray[Any]

    def split(self, shape: Shape, rng: np.random.Generator) -> Population:
        """Records in random order: first the public ones, then the devices'; the rest is unseen."""
        order = rng.permutation(len(self.X))
        ends = shape.public + shape.records * np.arange(shape.devices + 1)
        public, *devices, unseen = np.split(order, ends)
        streams = [self._stream(f"device-{k:02d}", rows) for k, rows in enumerate(devices, 1)]
        return Population(
            name=self.name,
            features=tuple(f"x{j:02d}" for j in range(self.X.shape[1])),
            classes=tuple(np.unique(self.y).tolist()),
            devices=(self._stream(PUBLIC, public), *streams),
            unseen=(self._stream("unseen", unseen),),
        )

    def _stream(self, name: str, rows: NDArray[Any]) -> DeviceStream:
        return DeviceStream(name, self.X[rows], self.y[rows])


def bundled(name: str) -> Table:
    """One of the tables; its classes are named by their numbers."""
    try:
        from sklearn import datasets
    except ImportError:
        raise DataError(
            f"{name}: this table comes with scikit-learn, which is not installed. "
            "Run `pip install scikit-learn`"
        ) from None
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Table(name, np.asarray(X, dtype=np.float64), np.asarray(y).astype(str))
