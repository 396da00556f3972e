"""Neighbouring data sets: each pair differs in one record, and each was built to break something.

The sizes are n = 1000, p = 10, R = 3 unless a pair says otherwise; `one` is (1, ..., 1), `half` is
1 in the first half of the features and -1 in the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.errors import FsirError


class AuditError(FsirError, ValueError):
    """A question that the audit cannot answer, with the value received and the remedy."""


@dataclass(frozen=True, eq=False)
class Records:
    """The records of one device: `X` standardised, one row each, and the slice of each."""

    X: Matrix
    slices: Integers

    def replaced(self, index: int, x: Matrix, h: int) -> Records:
        """The neighbour in which one record is another one."""
        X = self.X.copy()
        slices = self.slices.copy()
        X[index] = x
        slices[index] = h
        return Records(X, slices)


@dataclass(frozen=True, eq=False, kw_only=True)
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
    name: str, first: Records, second: Records, R: float, *, why: str, dimension: int | None = None
) -> Pair:
    return Pair(
        name=name,
        first=first,
        second=second,
        slices=int(max(first.slices.max(), second.slices.max(), 1)) + 1,
        truncate=R,
        norm=R * math.sqrt(first.X.shape[1]),
        dimension=dimension,
        why=why,
    )


def _corners(n: int, p: int, R: float) -> tuple[Matrix, Matrix]:
    if n < 4 or p < 2 or p % 2:
        raise AuditError(
            f"n = {n}, p = {p}: this pair needs at least 4 records and an even number of features"
        )
    return np.full(p, R), R * np.repeat([1.0, -1.0], p // 2)


def dimension_jumps(n: int, p: int, R: float) -> Pair:
    """A: two thirds in one corner. One record decides which eigengap is the larger one."""
    one, half = _corners(n, p, R)
    many = n - n // 3
    first = _records((many, one, 0), (n - many, half, 1))
    second = _records((many - 1, one, 0), (n - many + 1, half, 1))
    return _pair("A", first, second, R, why="the estimated dimension jumps from 1 to 2")


def vectors_swap(n: int, p: int, R: float) -> Pair:
    """B: two corners of nearly the same weight. One record decides which of them leads."""
    one, half = _corners(n, p, R)
    m = n // 2
    first = _records((m, one, 0), (n - m - 1, half, 1), (1, half / 2, 1))
    second = _records((m - 1, one, 0), (n - m, half, 1), (1, half / 2, 1))
    return _pair("B", first, second, R, why="the leading singular vectors swap", dimension=2)


def gap_opens(n: int, p: int, R: float) -> Pair:
    """C: two corners of the same weight, d = 1 public.
    One record opens the eigengap, and with it the noise."""
    one, half = _corners(n, p, R)
    m = n // 2
    first = _records((m, one, 0), (n - m, half, 1))
    second = _records((m + 1, one, 0), (n - m - 1, half, 1))
    return _pair("C", first, second, R, why="the first eigengap opens", dimension=1)


def from_zero(n: int, p: int, R: float) -> Pair:
    """Z: nothing but zeros, and one record that is not."""
    zero = np.zeros(p)
    first = _records((n, zero, 0))
    second = _records((n - 1, zero, 0), (1, np.full(p, R), 0))
    return _pair("Z", first, second, R, why="one record among zeros gives the noise a direction")


def largest_norm(n: int, p: int, R: float) -> Pair:
    """cR: short records, and one of norm 1, which sets the scale if the data set it."""
    axis = np.eye(p)[0]
    first = _records((n, 0.01 * axis, 0))
    second = _records((n - 1, 0.01 * axis, 0), (1, axis, 0))
    return _pair("cR", first, second, R, why="one record sets the norm by which all are divided")


def one_vote(n: int, p: int, R: float) -> Pair:
    """ccmd: ten records of two features at the edge of a vote; one record decides it.
    n, p and R are its own."""
    del n, p, R
    x = np.zeros((10, 2))
    x[:, 0] = [1, 1, 1, 1, 0, -1, -1, -1, -1, 0]
    first = Records(x, np.repeat([0, 1], 5))
    return Pair(
        name="ccmd",
        first=first,
        second=first.replaced(4, np.array([1.0, 0.0]), 0),
        slices=2,
        truncate=1.0,
        norm=math.sqrt(2.0),
        threshold=0.85,
        why="one record decides a vote",
    )


def far_from_mean(n: int, p: int, R: float) -> Pair:
    """centre: one record opposite to all others changes its slice;
    centred, it is twice as long as the clip."""
    one = np.full(p, R)
    first = _records((n - 1, -one, 0), (1, one, 0))
    second = first.replaced(n - 1, one, 1)
    return _pair("centre", first, second, R, why="a centred record is longer than the clip")


def opposite(n: int, p: int, R: float) -> Pair:
    """worst: a record on the clip becomes its own negative, in the same slice:
    all that theorem 1 allows."""
    one, _ = _corners(n, p + p % 2, R)
    x = one[:p]
    first = _records((n // 2, np.zeros(p), 0), (n - n // 2 - 1, np.zeros(p), 1), (1, x, 1))
    second = first.replaced(n - 1, -x, 1)
    return _pair("worst", first, second, R, why="a record on the clip becomes its negative")


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
