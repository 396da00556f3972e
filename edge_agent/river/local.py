"""Sliced inverse regression on one device alone, without a report.

It has the agent's accumulators and the aggregator's estimate. Nothing leaves the device, so nothing
needs to be public: features, their scales and the slices are taken from the first records. The
directions are estimated anew each time the records have grown by an eighth, and turned so that they
stay close to the ones before: whatever learns on top of them should not have to start over.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from fsir.arrays import Matrix
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

Values = Mapping[Hashable, Any]  # of a record, by name
_GROWTH = 1.125
_TRUNCATE = 8.0  # standard deviations of the first records
_FEW = 10  # a whole-number response with at most so many values is a class


class LocalSubspace:
    """Learns from records as they come; `project` gives coordinates once enough were seen."""

    def __init__(self, n_components: int, warm_up: int, slices: int) -> None:
        self._n_components = n_components
        self._warm_up = warm_up
        self._slices = slices
        self._first: list[tuple[dict[Hashable, float], Any]] = []
        self._estimate: _Estimate | None = None

    @property
    def n(self) -> int:
        """Records learned, those of the warm-up included."""
        return len(self._first) if self._estimate is None else self._estimate.n

    def learn(self, records: Sequence[tuple[Values, Any]]) -> None:
        """Learn records in their order; any split into calls gives the same."""
        for x, y in records:
            if self._estimate is not None:
                self._estimate.learn(x, y)
                continue
            numbers = {key: float(value) for key, value in x.items() if _is_number(value)}
            self._first.append((numbers, y))
            if len(self._first) >= self._warm_up:
                self._begin()

    def project(self, records: Sequence[Values]) -> Matrix | None:
        """Coordinates of records, one row each; None while no directions are known."""
        return None if self._estimate is None else self._estimate.project(records)

    def _begin(self) -> None:
        """Fix features, scales and slices from the first records, if they tell enough."""
        records = self._first
        self._first = []
        keys = sorted({key for x, _ in records for key in x}, key=str)
        response = self._response([y for _, y in records])
        if not keys or response is None:
            # All alike so far: wait, with bounded memory.
            self._first = records[-self._warm_up // 2 :]
            return
        columns = [np.array([x[key] for x, _ in records if key in x]) for key in keys]
        self._estimate = _Estimate(keys, self._task(columns, response), len(records))
        for x, y in records:
            self._estimate.learn(x, y)

    def _task(self, columns: list[Matrix], response: dict[str, Any]) -> Task:
        p = len(columns)
        slices = len(response.get("classes", ())) or len(response["cuts"]) + 1
        features = {
            "names": [f"x{j}" for j in range(p)],
            "centre": [float(column.mean()) for column in columns],
            "scale": [float(column.std()) or 1.0 for column in columns],
        }
        table = {
            "name": "local",
            "features": features,
            "response": response,
            "clip": {"truncate": _TRUNCATE, "norm": _TRUNCATE * math.sqrt(p)},
            "privacy": {"epsilon": 1.0, "mechanism": "none"},
            "report": {"records": 1},
            "dimension": min(self._n_components, p, slices - 1),
        }
        return task_from_table(table)

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


class _Estimate:
    """What is learned once features, scales and slices are fixed."""

    def __init__(self, keys: list[Hashable], task: Task, first_at: int) -> None:
        self._keys = keys
        self._task = task
        self._moments = Moments(task, first_stage(task))
        self._next = first_at  # records at which directions are estimated
        self._basis: Matrix | None = None

    @property
    def n(self) -> int:
        """Records learned."""
        return self._moments.n

    def learn(self, x: Values, y: Any) -> None:
        """One more record."""
        try:
            self._moments.learn_many(self._row(x)[None], [y])
        except AccumulatorError:
            return  # tens of millions of records: more would change nothing
        if self._moments.n >= self._next:
            self._refresh()

    def project(self, records: Sequence[Values]) -> Matrix | None:
        """Coordinates of records; None while no directions are known."""
        if self._basis is None or not records:
            return None
        rows = np.array([self._row(x) for x in records])
        features = self._task.features
        scaled = (rows - np.array(features.centre)) / np.array(features.scale)
        return np.asarray(scaled @ self._basis)

    def _row(self, x: Values) -> Matrix:
        """The values of a record; what is missing is taken to be as usual."""
        usual = zip(self._keys, self._task.features.centre, strict=True)
        return np.array(
            [float(x[key]) if _is_number(x.get(key)) else centre for key, centre in usual]
        )

    def _refresh(self) -> None:
        self._next = math.ceil(self._moments.n * _GROWTH)
        totals = Totals(self._moments.stage)
        # Mechanism "none": exact sums, nothing is drawn.
        totals.add(release(self._moments, SeededNoise(0)))
        try:
            m = merged(totals)
            Sigma = covariance(m)
            white = directions(m, whitened(m, Sigma), self._task.dimension or 1)
            basis = standardised(m, Sigma, white)
        except np.linalg.LinAlgError:
            return  # a slice or a feature that has hardly been seen: the next time will do
        if self._basis is not None and self._basis.shape == basis.shape:
            U, _, V = np.linalg.svd(basis.T @ self._basis)
            basis = basis @ (U @ V)
        self._basis = basis


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)
    )
