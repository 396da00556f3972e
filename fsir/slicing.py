"""From a response to its slice: a class label, or an interval between public cut points."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1  # the slice of a response that the task does not know


class Slicing:
    """Slices of a response; exactly one of `classes` and `cuts` is given.

    >>> Slicing(cuts=(0.0, 1.0)).slice_of(0.5), Slicing(classes=("sit", "walk")).slice_of("fly")
    (1, -1)
    """

    def __init__(self, classes: tuple[str, ...] = (), cuts: tuple[float, ...] = ()) -> None:
        self.classes, self.cuts = classes, cuts
        self.count = len(classes) or len(cuts) + 1
        self._index = {label: h for h, label in enumerate(classes)}
        self._edges = np.asarray(cuts, dtype=np.float64)

    def slice_of(self, y: Any) -> int:
        """The slice of one response, or `UNKNOWN`."""
        if self.classes:
            # A class is its text: a source may deliver 3, "3" or numpy's version of either.
            return self._index.get(y if type(y) is str else str(y), UNKNOWN)
        try:
            value = float(y)
        except (TypeError, ValueError):
            return UNKNOWN
        return UNKNOWN if math.isnan(value) else int(np.searchsorted(self._edges, value, side="left"))

    def slices_of(self, y: NDArray[Any]) -> NDArray[np.int64]:
        """The slices of many responses; the same as `slice_of` on each."""
        if self.classes or y.dtype.kind not in "fiu":
            return np.fromiter((self.slice_of(value) for value in y.tolist()), np.int64, len(y))
        values = y.astype(np.float64)
        found = np.searchsorted(self._edges, values, side="left").astype(np.int64)
        found[np.isnan(values)] = UNKNOWN
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """What each slice is called where people read it."""
        if self.classes:
            return self.classes
        edges = [f"{cut:g}" for cut in self.cuts]
        middle = [f"({a}, {b}]" for a, b in pairwise(edges)]
        return (f"<= {edges[0]}", *middle, f"> {edges[-1]}")
