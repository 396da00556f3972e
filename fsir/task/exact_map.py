"""The public map in whole numbers, so that no record is rounded differently among others.

BLAS adds the products of a row in an order of its own, which depends on how many rows there are and
on the machine. With rounding, what a record adds to a sum would depend on its neighbours, and a
replaced record could move more than itself. So inputs, map and centres are whole numbers here:

    inputs    |K_j| <= 2^20 steps to R
    map       sum over j of |P_jk| <= 2^32 for every coordinate k, in units of 2^-s
    centres   |c_hk| <= 2^52, in units of both

Every product, every partial sum in any order and the difference are whole numbers of at most 2^53,
which float64 holds exactly (docs/privacy.md, lemma 11).
"""

from __future__ import annotations

import math

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.errors import TaskError
from fsir.task.grid import grid_step
from fsir.task.nearest import NearestCentre
from fsir.task.public_map import Public

INPUT_BITS = 20  # a truncated input has at most 2^20 steps
_MAP_BITS = 32  # the whole numbers of a column of the map add up to at most 2^32
_FARTHEST = 2.0 ** (INPUT_BITS + _MAP_BITS)  # that a mapped record, or a centre, can be from 0


class ExactMap:
    """Map and centres of a task in whole numbers; a `TaskError` where they cannot be."""

    def __init__(self, public: Public, p: int, truncate: float) -> None:
        self.input_grid = grid_step(truncate, INPUT_BITS)
        shift = _MAP_BITS
        self._matrix: Matrix | None = None  # the identity needs no products
        if public.map is not None:
            P = public.matrix(p)
            _check_columns(P)
            shift = _largest_shift(P)
            self._matrix = np.rint(P * 2.0**shift)
            _check_columns(self._matrix)
        self._scale = 2.0**shift
        self.unit = self.input_grid / self._scale  # what one of the numbers of `apply` is worth
        self._centres = np.rint(public.centre_rows() / self.unit)
        _check_centres(self._centres, self.unit)

    def mapped(self, K: Matrix) -> Matrix:
        """Rows of whole inputs, mapped; exact."""
        return K * self._scale if self._matrix is None else K @ self._matrix

    def centred(self, V: Matrix, slices: Integers) -> Matrix:
        """Mapped rows, each minus the centre of its own slice, in place; exact."""
        V -= self._centres[slices]
        return V

    def apply(self, K: Matrix, slices: Integers) -> Matrix:
        """Rows of whole inputs, mapped, each minus the centre of its own slice; exact."""
        return self.centred(self.mapped(K), slices)

    def nearest(self, to_grid: float) -> NearestCentre:
        """Which of the centres is nearest to mapped rows, `to_grid` steps of a grid to a unit."""
        return NearestCentre(self._centres, to_grid)


def _largest_shift(P: Matrix) -> int:
    """The largest s at which the whole numbers of no column of `P 2^s` add up to too much."""
    # One that is too large in any case; the sums below are of whole numbers, and so exact.
    shift = _MAP_BITS + 2 - math.floor(math.log2(np.abs(P).sum(axis=0).max()))
    while np.abs(np.rint(P * 2.0**shift)).sum(axis=0).max() > 2.0**_MAP_BITS:
        shift -= 1
    return shift


def _check_columns(matrix: Matrix) -> None:
    vanished = np.flatnonzero(~matrix.any(axis=0))
    if len(vanished):
        remedy = "is zero, or lost beside the largest one (2^-32 of it); leave it out or scale it"
        raise TaskError("public.map", f"column {int(vanished[0])}", remedy)


def _check_centres(centres: Matrix, unit: float) -> None:
    farthest = float(np.abs(centres).max())
    if farthest > _FARTHEST:
        remedy = (
            f"no mapped record of this task gets farther than {_FARTHEST * unit:.6g} from 0, "
            "nor does their mean; correct it"
        )
        raise TaskError("public.centres", farthest * unit, remedy)
