"""Neighbouring data sets: each pair differs in one record, and each was built to break something.

The sizes are n = 1000, p = 10, R = 3 unless a pair says otherwise; `one` is (1, ..., 1), `half` is
1 in the first half of the features and -1 in the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsir.errors import FsirError

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]


class AuditError(FsirError, ValueError):
    """A question that the audit cannot answer, with the value received and the remedy."""


@dataclass(frozen=True, eq=False)
class Records:
    """The records of one device: `X` standardised, one row each, and the slice of each."""

    X: Matrix
    slices: Labels

    def replaced(self, index: int, x: Matrix, h: int) -> Records:
        """The neighbour in which one record is another one."""
        X, slices = self.X.copy(), self.slices.copy()
        X[index], slices[index] = x, h
        return Records(X, slices)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring data sets and the public numbers that belong to them."""

    name: str
    first: Records
    second: Records
    slices: int
    truncate: float
    norm: float
    dimension: int | None = None  # the public d that the pair is about, where a mechanism uses one
    threshold: float = 0.0  # of published votes
    why: str = ""

    @property
    def n(self) -> int:
        """Records on each side."""
        return len(self.first.X)

    @property
    def p(self) -> int:
        """Features."""
        return int(self.first.X.shape[1])


def _records(*parts: tuple[int, Matrix, int]) -> Records:
    X = np.vstack([np.tile(x, (count, 1)) for count, x, _ in parts])
    return Records(X, np.repeat([h for _, _, h in parts], [count for count, _, _ in parts]))


def _pair(
    name: str,
    first: Records,
    second: Records,
    why: str,
    dimension: int | None = None,
    R: float = 3.0,
) -> Pair:
    slices = int(max(first.slices.max(), second.slices.max(), 1)) + 1
    return Pair(name, first, second, slices, R, R * math.sqrt(first.X.shape[1]), dimension, why=why)


def _corners(n: int, p: int, R: float) -> tuple[Matrix, Matrix]:
    if n < 4 or p < 2 or p % 2:
        raise AuditError(
            f"n = {n}, p = {p}: this pair needs at least 4 records and an even number of features"
        )
    return np.full(p, R), R * np.repeat([1.0, -1.0], p // 2)


def dimension_jumps(n: int, p: int, R: float) -> Pair:
    """A: two thirds in one corner. One record more or less decides which eigengap is the larger
    one."""
    one, half = _corners(n, p, R)
    many = n - n // 3
    first, second = ((many - k, n - many + k) for k in (0, 1))
    return _pair(
        "A", _records((first[0], one, 0), (first[1], half, 1)), _records((second[0], one, 0), (second[1], half, 1)),
        "the estimated dimension jumps from 1 to 2", None, R,
    )  # fmt: skip


def vectors_swap(n: int, p: int, R: float) -> Pair:
    """B: two corners of nearly the same weight. One record decides which of them is the leading
    direction."""
    one, half = _corners(n, p, R)
    m = n // 2
    return _pair(
        "B", _records((m, one, 0), (n - m - 1, half, 1), (1, half / 2, 1)),
        _records((m - 1, one, 0), (n - m, half, 1), (1, half / 2, 1)),
        "the leading singular vectors swap", 2, R,
    )  # fmt: skip


def gap_opens(n: int, p: int, R: float) -> Pair:
    """C: two corners of the same weight, d = 1 public. One record opens the eigengap, and with it
    the noise."""
    one, half = _corners(n, p, R)
    m = n // 2
    return _pair(
        "C", _records((m, one, 0), (n - m, half, 1)), _records((m + 1, one, 0), (n - m - 1, half, 1)),
        "the first eigengap opens", 1, R,
    )  # fmt: skip


def from_zero(n: int, p: int, R: float) -> Pair:
    """Z: nothing but zeros, and one record that is not."""
    zero = np.zeros(p)
    return _pair(
        "Z", _records((n, zero, 0)), _records((n - 1, zero, 0), (1, np.full(p, R), 0)),
        "one record among zeros gives the noise a direction", None, R,
    )  # fmt: skip


def largest_norm(n: int, p: int, R: float) -> Pair:
    """cR: short records, and one of norm 1, which sets the scale if the scale is taken from the
    data."""
    axis = np.eye(p)[0]
    first, second = _records((n, 0.01 * axis, 0)), _records((n - 1, 0.01 * axis, 0), (1, axis, 0))
    return _pair("cR", first, second, "one record sets the norm by which all are divided", None, R)


def one_vote(n: int, p: int, R: float) -> Pair:
    """ccmd: ten records of two features at the edge of a vote; one record decides it. n, p and R
    are its own."""
    del n, p, R
    x = np.zeros((10, 2))
    x[:, 0] = [1, 1, 1, 1, 0, -1, -1, -1, -1, 0]
    first = Records(x, np.repeat([0, 1], 5))
    second = first.replaced(4, np.array([1.0, 0.0]), 0)
    return Pair(
        "ccmd",
        first,
        second,
        2,
        1.0,
        math.sqrt(2.0),
        threshold=0.85,
        why="one record decides a vote",
    )


def far_from_mean(n: int, p: int, R: float) -> Pair:
    """centre: one record opposite to all others changes its slice; centred, it is twice as long as
    the clip."""
    one = np.full(p, R)
    first = _records((n - 1, -one, 0), (1, one, 0))
    return _pair(
        "centre",
        first,
        first.replaced(n - 1, one, 1),
        "a centred record is longer than the clip",
        None,
        R,
    )


def opposite(n: int, p: int, R: float) -> Pair:
    """worst: a record on the clip becomes its own negative, in the same slice: all that theorem 1
    allows."""
    one, _ = _corners(n, p + p % 2, R)
    x = one[:p]
    first = _records((n // 2, np.zeros(p), 0), (n - n // 2 - 1, np.zeros(p), 1), (1, x, 1))
    return _pair(
        "worst",
        first,
        first.replaced(n - 1, -x, 1),
        "a record on the clip becomes its negative",
        None,
        R,
    )


PAIRS: dict[str, Callable[[int, int, float], Pair]] = {
    "A": dimension_jumps,
    "B": vectors_swap,
    "C": gap_opens,
    "Z": from_zero,
    "cR": largest_norm,
    "ccmd": one_vote,
    "centre": far_from_mean,
    "worst": opposite,
}


def pair(name: str, n: int = 1000, p: int = 10, R: float = 3.0) -> Pair:
    """The named pair."""
    if name not in PAIRS:
        raise AuditError(f"pair {name!r}: choose one of {', '.join(PAIRS)} or search")
    return PAIRS[name](n, p, R)
