"""Sliced inverse regression on one device alone, without a report.

Nothing leaves the device, so nothing needs to be public: features, their scales and the slices are
taken from the first records, again and again until there are enough of them. The directions are
estimated anew each time the records have grown by an eighth, and turned so that they stay close to
the ones before: whatever learns on top of them should not have to start over.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from edge_agent.river.sums import Sums, turned
from fsir.arrays import Matrix
from fsir.limits import MAX_SLICES
from fsir.task.slicing import UNKNOWN, Slicing

Values = Mapping[Hashable, Any]  # of a record, by name
_FIRST = 10  # records after which there are directions
_GROWTH = 1.125
_FEW = 10  # a whole-number response with at most so many values is a class


class LocalSubspace:
    """Learns from records as they come; `project` gives coordinates once a few were seen."""

    def __init__(self, n_components: int, warm_up: int, slices: int) -> None:
        self._n_components = n_components
        self._warm_up = warm_up
        self._slices = slices
        self._first: list[tuple[Values, Any]] = []
        self._next = min(_FIRST, warm_up)
        self._estimate: _Estimate | None = None
        self._warm = False  # features, scales and slices are fixed

    @property
    def n(self) -> int:
        """Records learned, those of the warm-up included."""
        return self._estimate.n if self._warm and self._estimate else len(self._first)

    def learn(self, records: Sequence[tuple[Values, Any]]) -> None:
        """Learn records in their order; any split into calls gives the same."""
        for x, y in records:
            if self._warm and self._estimate is not None:
                self._estimate.learn(x, y)
                continue
            self._first.append(({key: x[key] for key in x if _is_number(x[key])}, y))
            if len(self._first) >= self._next:
                self._begin()

    def project(self, records: Sequence[Values]) -> Matrix | None:
        """Coordinates of records, one row each; None while no directions are known."""
        return None if self._estimate is None else self._estimate.project(records)

    def _begin(self) -> None:
        """Take features, scales and slices from the first records, for good if there are enough."""
        first = self._first
        enough = len(first) >= self._warm_up
        self._next = self._warm_up if enough else min(_grown(len(first)), self._warm_up)
        keys = sorted({key for x, _ in first for key in x}, key=str)
        slices = _Slices.of([y for _, y in first], self._slices)
        if not keys or slices is None:
            if enough:  # all alike so far: wait, with bounded memory
                self._first = first[-self._warm_up // 2 :]
            return
        self._estimate = _Estimate(keys, slices, first, self._n_components, self._estimate)
        if enough:
            self._warm = True
            self._first = []


class _Slices:
    """Slices of a response: intervals between cuts, or classes, of which more may come."""

    def __init__(self, cuts: tuple[float, ...] = ()) -> None:
        self._cuts = Slicing(cuts=cuts) if cuts else None
        self._known: dict[str, int] = {}

    @classmethod
    def of(cls, y: list[Any], count: int) -> _Slices | None:
        """The slices that these responses suggest; None if there is only one."""
        values = [value.item() if isinstance(value, np.generic) else value for value in y]
        if len(set(map(str, values))) < 2:
            return None
        numeric = all(_is_number(value) for value in values)
        if not numeric or (
            len(set(values)) <= _FEW and all(float(value).is_integer() for value in values)
        ):
            return cls()
        ranks = np.arange(1, count) / count
        return cls(tuple(np.unique(np.quantile(np.array(values, dtype=np.float64), ranks))))

    def slice_of(self, y: Any) -> int:
        """The slice of a response, or `UNKNOWN`."""
        if self._cuts is not None:
            return self._cuts.slice_of(y)
        label = str(y)
        if label not in self._known and len(self._known) < MAX_SLICES:
            self._known[label] = len(self._known)
        return self._known.get(label, UNKNOWN)


class _Estimate:
    """What is learned with given features, scales and slices."""

    def __init__(
        self,
        keys: list[Hashable],
        slices: _Slices,
        first: list[tuple[Values, Any]],
        n_components: int,
        before: _Estimate | None,
    ) -> None:
        columns = [np.array([x[key] for x, _ in first if key in x], np.float64) for key in keys]
        self._keys = keys
        self._centre = np.array([column.mean() for column in columns])
        self._scale = np.array([column.std() or 1.0 for column in columns])
        self._slices = slices
        self._n_components = n_components
        self._sums = Sums(len(keys))
        self._next = len(first)  # records at which directions are estimated
        self._mean: Matrix = np.zeros(len(keys))
        self._basis: Matrix | None = None
        if before is not None and before._keys == keys and before._basis is not None:
            # The same directions, for records on the new scales.
            self._basis = before._basis * (self._scale / before._scale)[:, None]
        for x, y in first:
            self.learn(x, y)

    @property
    def n(self) -> int:
        """Records learned."""
        return self._sums.n

    def learn(self, x: Values, y: Any) -> None:
        """One more record."""
        h = self._slices.slice_of(y)
        if h == UNKNOWN:
            return
        self._sums.add(self._standardised(x), h)
        if self._sums.n >= self._next:
            self._refresh()

    def project(self, records: Sequence[Values]) -> Matrix | None:
        """Coordinates of records; None while no directions are known."""
        if self._basis is None or not records:
            return None
        rows = np.array([self._standardised(x) for x in records])
        return np.asarray((rows - self._mean) @ self._basis)

    def _standardised(self, x: Values) -> Matrix:
        """The values of a record; what is missing is taken to be as usual."""
        usual = zip(self._keys, self._centre, strict=True)
        row = [float(x[key]) if _is_number(x.get(key)) else centre for key, centre in usual]
        return np.asarray((np.array(row) - self._centre) / self._scale)

    def _refresh(self) -> None:
        self._next = _grown(self._sums.n)
        if (found := self._sums.directions(self._n_components)) is None:
            return
        self._mean, basis = found
        self._basis = basis if self._basis is None else turned(basis, self._basis)


def _grown(n: int) -> int:
    return max(math.ceil(n * _GROWTH), n + 1)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)
    )
