"""Sliced inverse regression on one device alone: the agent's accumulators and the aggregator's estimate, no report.

Nothing leaves the device, so nothing needs to be public: features, their scales and the slices are taken from the first
records. The directions are estimated anew each time the records have grown by an eighth, and turned so that they stay
close to the ones before: whatever learns on top of them should not have to start over.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.contract import task_from_table
from fsir.errors import AccumulatorError
from fsir.estimate.covariance import covariance, merged
from fsir.estimate.directions import directions, standardised, whitened
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.task.task import Task

Rows = NDArray[np.float64]
_GROWTH = 1.125
_TRUNCATE = 8.0  # standard deviations of the first records
_FEW = 10  # a whole-number response with at most so many values is a class


class LocalSubspace:
    """Learns from records as they come; `project` gives coordinates once enough were seen."""

    def __init__(self, n_components: int, warm_up: int, slices: int) -> None:
        self._n_components, self._warm_up, self._slices = n_components, warm_up, slices
        self._first: list[tuple[dict[Hashable, float], Any]] = []
        self._keys: list[Hashable] = []
        self._moments: Moments | None = None
        self._task: Task | None = None
        self._next = 0
        self._basis: Rows | None = None

    @property
    def n(self) -> int:
        """Records learned, those of the warm-up included."""
        return len(self._first) if self._moments is None else self._moments.n

    @property
    def ready(self) -> bool:
        """Whether directions are known."""
        return self._basis is not None

    def learn(self, records: Sequence[tuple[Mapping[Hashable, Any], Any]]) -> None:
        """Learn records in their order; any split into calls gives the same."""
        for x, y in records:
            if self._moments is None:
                self._first.append(
                    ({key: float(value) for key, value in x.items() if _is_number(value)}, y)
                )
                if len(self._first) >= self._warm_up:
                    self._begin()
            else:
                self._learn_row(self.row(x), y)

    def _learn_row(self, row: Rows, y: Any) -> None:
        assert self._moments is not None
        try:
            self._moments.learn_many(row[None], [y])
        except AccumulatorError:
            return  # tens of millions of records: more would change nothing
        if self._moments.n >= self._next:
            self._refresh()

    def row(self, x: Mapping[Hashable, Any]) -> Rows:
        """The values of a record; what is missing is taken to be as usual."""
        assert self._task is not None
        usual = zip(self._keys, self._task.features.centre, strict=True)
        return np.array(
            [float(x[key]) if _is_number(x.get(key)) else centre for key, centre in usual]
        )

    def _begin(self) -> None:
        """Fix features, scales and slices from the first records, if they tell enough."""
        records, self._first = self._first, []
        keys = sorted({key for x, _ in records for key in x}, key=str)
        response = self._response([y for _, y in records])
        if not keys or response is None:
            self._first = records[
                -self._warm_up // 2 :
            ]  # all alike so far: wait, with bounded memory
            return
        columns = [np.array([x[key] for x, _ in records if key in x]) for key in keys]
        spread = [float(column.std()) for column in columns]
        p, H = len(keys), len(response.get("classes", ())) or len(response["cuts"]) + 1
        self._keys = keys
        self._task = task_from_table({
            "name": "local", "features": {"names": [f"x{j}" for j in range(p)],
                "centre": [float(column.mean()) for column in columns], "scale": [s or 1.0 for s in spread]},
            "response": response, "clip": {"truncate": _TRUNCATE, "norm": _TRUNCATE * math.sqrt(p)},
            "privacy": {"epsilon": 1.0, "mechanism": "none"}, "report": {"records": 1},
            "dimension": min(self._n_components, p, H - 1),
        })  # fmt: skip
        self._moments = Moments(self._task, first_stage(self._task))
        self._next = len(records)
        for x, y in records:
            self._learn_row(self.row(x), y)

    def _response(self, y: list[Any]) -> dict[str, Any] | None:
        values = [value.item() if isinstance(value, np.generic) else value for value in y]
        numeric = all(_is_number(value) for value in values)
        if not numeric or (
            len(set(values)) <= _FEW and all(float(value).is_integer() for value in values)
        ):
            classes = sorted({str(value) for value in values})
            return {"classes": classes} if len(classes) > 1 else None
        ranks = np.arange(1, self._slices) / self._slices
        cuts = np.unique(np.quantile(np.array(values, dtype=np.float64), ranks))
        return {"cuts": cuts.tolist()}

    def _refresh(self) -> None:
        assert self._moments is not None
        assert self._task is not None
        self._next = math.ceil(self._moments.n * _GROWTH)
        totals = Totals(self._moments.stage)
        totals.add(
            release(self._moments, SeededNoise(0))
        )  # mechanism "none": exact sums, nothing is drawn
        try:
            m = merged(totals)
            Sigma = covariance(m)
            basis = standardised(
                m, Sigma, directions(m, whitened(m, Sigma), self._task.dimension or 1)
            )
        except np.linalg.LinAlgError:
            return  # a slice or a feature that has hardly been seen: the next time will do
        if self._basis is not None and self._basis.shape == basis.shape:
            U, _, V = np.linalg.svd(basis.T @ self._basis)
            basis = basis @ (U @ V)
        self._basis = basis

    def project(self, rows: Rows) -> Rows:
        """Coordinates of rows, once `ready`."""
        assert self._task is not None
        assert self._basis is not None
        standardised = (rows - np.array(self._task.features.centre)) / np.array(
            self._task.features.scale
        )
        return np.asarray(standardised @ self._basis)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)
    )
