"""From a record to a row of whole numbers whose length is bounded.

This is what makes sums exact, and their noise enough.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.privacy.plan import Stage
from fsir.task.task import Task

if TYPE_CHECKING:
    from fsir.task.public_map import Public

_JUST_BELOW_ONE = 1.0 - 2.0**-50  # pays for the rounding of a square root, a quotient and a product

_WIDE = 6400  # values in a row from which on a wider one would be no faster
_NARROW = 32  # values in a row up to which numpy's own sums are faster than a product for each row


@lru_cache(maxsize=4)  # it changes with nothing that it is used on
def quantiser_of(task: Task, stage: Stage) -> Quantiser:
    """The quantiser of one stage: with the public map of the task, if it has one."""
    if task.public is None:
        return Quantiser(task, stage)
    if task.public.check is None:
        return MappedQuantiser(task, stage, task.public)
    return CheckedQuantiser(task, stage, task.public, task.public.check)


class _Inputs:
    """Features of a record: standardised, truncated, and quantised toward zero on some grid."""

    def __init__(self, task: Task, stage: Stage, truncate: float, grid: float) -> None:
        chosen = list(stage.features)
        self._centre = np.array(task.features.centre)[chosen]
        # Multiplied, not divided, and always in this order: one row and a block of rows give the
        # same bits.
        self._factor = 1.0 / (np.array(task.features.scale)[chosen] * grid)
        self.reach = float(int(truncate / grid))
        self._centred = not self._centre.any()
        # Several narrow rows are taken as one wide one, which numpy walks through much faster.
        self._together = 1 << (max(1, _WIDE // len(chosen)) - 1).bit_length()
        self._wide_centre = np.tile(self._centre, self._together)
        self._wide_factor = np.tile(self._factor, self._together)

    def whole(self, X: Matrix, out: Matrix | None = None) -> Matrix:
        """Into `out`, if it is given; that may be X itself."""
        K = np.empty(X.shape) if out is None else out
        end = len(X) - len(X) % self._together
        if end:
            shape = (-1, len(self._wide_centre))
            wide = (X[:end].reshape(shape), K[:end].reshape(shape))
            self._standardise(*wide, self._wide_centre, self._wide_factor)
        if end < len(X):
            self._standardise(X[end:], K[end:], self._centre, self._factor)
        return _truncated(K, self.reach)

    def _standardise(self, X: Matrix, K: Matrix, centre: Matrix, factor: Matrix) -> None:
        with np.errstate(over="ignore"):  # infinity is truncated like any other large value
            if self._centred:
                np.multiply(X, factor, out=K)
            else:
                np.subtract(X, centre, out=K)
                np.multiply(K, factor, out=K)


def _whole_square(length: float) -> int:
    """The largest whole number that the square of a length reaches, without rounding."""
    numerator, denominator = length.as_integer_ratio()
    return numerator**2 // denominator**2


def _truncated(K: Matrix, reach: float) -> Matrix:
    """To whole numbers of at most `reach`, toward zero, in place."""
    K.clip(-reach, reach, out=K)
    np.trunc(K, out=K)
    return K


class Quantiser:
    """Turns records into rows of integers that one stage may add up."""

    def __init__(self, task: Task, stage: Stage) -> None:
        self._inputs = _Inputs(task, stage, stage.truncate, stage.grid)
        self.reach = self._inputs.reach
        self.norm = stage.norm / stage.grid
        # Squared norms are whole numbers: the largest one that is allowed.
        self._longest = float(_whole_square(self.norm))
        self._clip = self.norm

    def truncated(self, X: Matrix, out: Matrix | None = None) -> Matrix:
        """Standardise, truncate, quantise toward zero; into `out`, which may be X itself."""
        return self._inputs.whole(X, out)

    def whole(self, X: Matrix, slices: Integers, out: Matrix | None = None) -> Matrix:
        """All but the clip, for records in these slices, which must be known.

        `out`, which may be X itself, is memory that may be used.
        """
        return self.truncated(X, out)

    def _squares(self, K: Matrix) -> Matrix:
        """The squared norms of rows: sums of whole numbers, the same in any order."""
        if K.shape[1] > _NARROW and hasattr(np, "vecdot"):  # numpy 2
            return np.asarray(np.vecdot(K, K))
        return np.asarray(np.einsum("ij,ij->i", K, K))

    def clipped(self, K: Matrix) -> Matrix:
        """Scale rows that are too long down to the clip, in place.

        The norm is taken from the integers, exactly.
        """
        squares = self._squares(K)
        long = np.flatnonzero(squares > self._longest)
        if len(long):
            shrinkage = np.ones(len(K))
            shrinkage[long] = self._clip / np.sqrt(squares[long]) * _JUST_BELOW_ONE
            # All rows at once, the others times 1: faster than picking the long ones out.
            K *= shrinkage[:, None]
            np.trunc(K, out=K)
        return K


class MappedQuantiser(Quantiser):
    """Maps a record, alone, and takes the public centre of its own slice away before the clip.

    What comes out depends on this record and on public constants, to the last bit (docs/privacy.md,
    proposition 10 and lemma 11).
    """

    def __init__(self, task: Task, stage: Stage, public: Public) -> None:
        from fsir.task.exact_map import ExactMap

        super().__init__(task, stage)
        self._map = ExactMap(public, task.p, task.clip.truncate)
        # Finer than the numbers that are added up: a mapped one is a sum of many of these.
        self._inputs = _Inputs(task, stage, task.clip.truncate, self._map.input_grid)
        self._to_grid = self._map.unit / stage.grid  # a power of two

    def whole(self, X: Matrix, slices: Integers, out: Matrix | None = None) -> Matrix:
        """All but the clip: truncated, mapped, less the centre of the own slice, and quantised."""
        K = self._map.apply(self.truncated(X, out), slices)
        K *= self._to_grid
        return _truncated(K, self.reach)


class CheckedQuantiser(MappedQuantiser):
    """Adds one number to a mapped record, the last: does the public rule name its own class?

    It is `check` or `-check` in whole steps. The mapped numbers are clipped to `clip.norm`, so that
    no row is longer than the norm of the stage, the root of the sum of both squares.
    """

    def __init__(self, task: Task, stage: Stage, public: Public, check: float) -> None:
        super().__init__(task, stage, public)
        self._nearest = self._map.nearest(self._to_grid)
        self._steps = float(int(check / stage.grid))
        clip = task.clip.norm / stage.grid
        self._mapped_reach = float(int(clip))
        # The norm of the stage is a rounded root: what the check leaves of it may be a bit less.
        left = _whole_square(self.norm) - int(self._steps) ** 2
        self._longest = float(min(_whole_square(clip), left))
        self._clip = math.sqrt(self._longest)

    def whole(self, X: Matrix, slices: Integers, out: Matrix | None = None) -> Matrix:
        """All but the clip of the mapped numbers, and last of each row its check."""
        V = self._map.mapped(self.truncated(X, out))
        right = self._nearest.of(V) == slices
        rest = self._map.centred(V, slices)
        K = np.empty((len(V), V.shape[1] + 1))
        np.multiply(rest, self._to_grid, out=K[:, :-1])
        _truncated(K[:, :-1], self._mapped_reach)
        K[:, -1] = np.where(right, self._steps, -self._steps)
        return K

    def clipped(self, K: Matrix) -> Matrix:
        """Scale mapped numbers that are too long down to the clip, in place; checks stay."""
        super().clipped(K[:, :-1])
        return K
