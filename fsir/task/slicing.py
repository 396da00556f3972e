"""From a response to its slice: a class label, or an interval between public cut points."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fsir.arrays import Integers
from fsir.task.labels import UNKNOWN, LabelTable, has_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UNKNOWN", "Slicing"]


class Slicing:
    """Slices of a response; exactly one of `classes` and `cuts` is given.

    >>> Slicing(cuts=(0.0, 1.0)).slice_of(0.5), Slicing(classes=("sit", "walk")).slice_of("fly")
    (1, -1)
    """

    def __init__(self, classes: tuple[str, ...] = (), cuts: tuple[float, ...] = ()) -> None:
        self.classes = classes
        self.cuts = cuts
        self.count = len(classes) or len(cuts) + 1
        self._index = {label: h for h, label in enumerate(classes)}
        self._edges = np.asarray(cuts, dtype=np.float64)

    @cached_property
    def _table(self) -> LabelTable | None:
        return LabelTable(self.classes) if has_table(self.classes) else None

    @cached_property
    def kinds(self) -> str:
        """The kinds of arrays of which slices are found together, not one after the other."""
        if self.cuts:
            return "fiu"
        return "U" if self._table is not None else ""

    @property
    def dtype(self) -> np.dtype[Any]:
        """In which responses whose slices are found together lose nothing that tells slices."""
        return np.dtype(np.float64) if self._table is None else self._table.dtype

    def slice_of(self, y: Any) -> int:
        """The slice of one response, or `UNKNOWN`."""
        if self.classes:
            # A class is its text: a source may deliver 3, "3" or numpy's version of either.
            return self._index.get(y if type(y) is str else str(y), UNKNOWN)
        try:
            value = float(y)
        except (TypeError, ValueError, OverflowError):
            return UNKNOWN
        return UNKNOWN if math.isnan(value) else bisect_left(self.cuts, value)

    def slices_of(self, y: Sequence[Any] | NDArray[Any]) -> Integers:
        """The slices of many responses; the same as `slice_of` on each."""
        if isinstance(y, np.ndarray) and y.dtype.kind in self.kinds and (self.cuts or y.ndim == 1):
            return self._slices_of_numbers(y) if self._table is None else self._table.slices_of(y)
        # A list stays one: as an array [1, 2.5] would be [1.0, 2.5], and 1.0 is not class "1".
        values = y.tolist() if isinstance(y, np.ndarray) else y
        slices = self._slices_of_labels(values) if self.classes else map(self.slice_of, values)
        return np.array(list(slices), dtype=np.int64)

    def _slices_of_numbers(self, numbers: NDArray[Any]) -> Integers:
        values = numbers.astype(np.float64)
        slices = np.searchsorted(self._edges, values, side="left").astype(np.int64)
        slices[np.isnan(values)] = UNKNOWN
        return slices

    def _slices_of_labels(self, labels: Iterable[Any]) -> list[int]:
        known = self._index.get  # most labels are texts, which need nothing else
        return [
            known(label, UNKNOWN) if type(label) is str else self.slice_of(label)
            for label in labels
        ]

    @property
    def labels(self) -> tuple[str, ...]:
        """What each slice is called where people read it."""
        if self.classes:
            return self.classes
        edges = [f"{cut:g}" for cut in self.cuts]
        middle = [f"({a}, {b}]" for a, b in pairwise(edges)]
        return (f"<= {edges[0]}", *middle, f"> {edges[-1]}")
