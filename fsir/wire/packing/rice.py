"""Rice codes: a value is a quotient in unary code and a remainder of `k` bits.

Values are folded to unsigned first. Quotients and remainders are kept apart, so that both
directions are a handful of array operations, for one vector or for hundreds at once. Decoding works
in place where it can, because memory is what costs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Flags, Integers

LARGEST = 2**53  # beyond this a value is not a sum that any task allows
MOST_BITS = 52


def fold(values: Integers) -> Integers:
    """Whole numbers as unsigned ones: 0, -1, 1, -2, 2, ... become 0, 1, 2, 3, 4, ..."""
    return np.where(values >= 0, 2 * values, -2 * values - 1)


def unfold(folded: NDArray[Any]) -> NDArray[Any]:
    """What `fold` was given; uses up the memory of its argument.

    >>> unfold(fold(np.array([3, -3, 0]))).tolist()
    [3, -3, 0]
    """
    sign = folded & 1
    folded >>= 1
    folded ^= np.negative(sign, out=sign)
    return folded


def best_bits(folded: Integers) -> int:
    """The number of bits `k` that makes the code shortest."""
    guess = int(np.log2(folded.mean() + 1.0))  # the best number of bits is next to this
    near = range(max(0, guess - 2), min(MOST_BITS, guess + 2) + 1)
    return min(near, key=lambda bits: folded.size * bits + int((folded >> bits).sum()))


def quotient_bytes(folded: Integers, k: int) -> bytes:
    """The unary codes of all quotients: so many zeros, and a one."""
    ends = np.cumsum((folded >> k) + 1) - 1
    unary = np.zeros(int(ends[-1]) + 1, np.uint8)
    unary[ends] = 1
    return np.packbits(unary).tobytes()


def remainder_bytes(folded: Integers, k: int) -> bytes:
    """The lowest `k` bits of all values."""
    bits = np.empty((folded.size, k), np.uint8)
    for bit in range(k):  # one at a time: all at once would take 8 k bytes a value
        bits[:, bit] = (folded >> bit) & 1
    return np.packbits(bits).tobytes()


def unary_codes(codes: list[bytes]) -> tuple[Integers, Integers, Integers]:
    """Where each vector starts, where each of its values ends, and how many it has.

    Places are bits of all codes one after the other.
    """
    lengths = np.array([len(code) for code in codes], np.int64)
    unary = np.unpackbits(np.frombuffer(b"".join(codes), np.uint8))
    ends = np.flatnonzero(unary.view(np.bool_))  # ten times as fast as on bytes
    starts = np.concatenate(([0], 8 * np.cumsum(lengths)))
    counts = np.diff(np.searchsorted(ends, starts))
    return starts[:-1], ends, counts


def quotients(starts: Integers, ends: Integers, k: int, longest: int) -> tuple[NDArray[Any], Flags]:
    """The quotients, and which rows have one that is too large; those are set to 0.

    `longest` is the length of the longest code of a row, in bits.
    """
    # No quotient is longer than its code: what honest noise makes fits into half of the memory.
    small = (longest << k) < 2**30 and int(ends[-1, -1]) < 2**31
    ends = ends.astype(np.int32) if small else ends
    values: NDArray[Any] = np.empty_like(ends)
    np.subtract(ends[:, 1:], ends[:, :-1], out=values[:, 1:])
    values[:, 0] = ends[:, 0] - (starts - 1)
    values -= 1
    far = np.zeros(len(ends), np.bool_) if small else values.max(axis=1) > LARGEST >> k
    values[far] = 0
    return values, far


def remainders(raw: bytes, rows: int, count: int, k: int) -> NDArray[Any]:
    """The `k` bits of `count` values in each of these rows; `k` is above 0."""
    stored = np.frombuffer(raw, np.uint8).reshape(rows, -1)
    if 8 % k == 0:  # 4 for all noise of eight to sixteen steps, which is what devices send
        return np.asarray(_table(k).take(stored).view(np.uint8)[:, :count])
    bits = np.unpackbits(stored, axis=1, count=count * k).reshape(rows, count, k)
    narrow = np.dtype(np.uint8 if k <= 8 else np.uint16 if k <= 16 else np.int64)
    values: NDArray[Any] = bits[:, :, 0].astype(narrow)
    for bit in range(1, k):
        values |= np.left_shift(bits[:, :, bit], bit, dtype=narrow)
    return values


@lru_cache(maxsize=4)
def _table(k: int) -> NDArray[Any]:
    """For every byte the values of `k` bits that it holds, as one word."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).reshape(256, 8 // k, k)
    values = (bits << np.arange(k, dtype=np.uint8)).sum(axis=2, dtype=np.uint8)
    return np.asarray(values.view(f"u{8 // k}")[:, 0])
