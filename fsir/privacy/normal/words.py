"""The standard normal that a random word of 128 bits stands for."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.privacy.normal import SIGNIFICANT_BITS, WORD_BYTES
from fsir.privacy.normal.inverse import inverse_normal

_INVERSE_NORMAL = NormalDist().inv_cdf
_MANY = 100  # words from which on arrays are faster than numbers
_BLOCK = 16384  # words at a time, so that all that is made of them stays in the cache
_LONG = 2**54  # upper halves of a word from here on decide how it is rounded


def normal_of(word: int, bits: int = SIGNIFICANT_BITS) -> float:
    """The standard normal that a 128-bit word stands for.

    Fewer `bits` exist to test the form of the error bound.
    """
    tail = _tail_of(word)
    if bits < SIGNIFICANT_BITS:
        mantissa, exponent = math.frexp(tail)
        tail = min(math.ldexp(round(mantissa * 2.0**bits) / 2.0**bits, exponent), 0.5)
    z = -_INVERSE_NORMAL(tail)
    return z if word & 1 else -z


def _tail_of(word: int) -> float:
    return (word | 1) / 2.0**129  # in (0, 1/2]; the division rounds to 53 significant bits


def normals_of(raw: bytes) -> Matrix:
    """What `normal_of` gives for each word of `raw`, lowest byte first; the same bits."""
    count = len(raw) // WORD_BYTES
    if count < _MANY:
        words = _words_of(raw)
        return np.fromiter((normal_of(word) for word in words), np.float64, count)
    halves = np.frombuffer(raw, "<u8").reshape(count, 2)
    normals = np.empty(count)
    for start in range(0, count, _BLOCK):
        block = slice(start, start + _BLOCK)
        normals[block] = _normals_of_halves(halves[block])
    return normals


def _words_of(raw: bytes) -> list[int]:
    starts = range(0, len(raw), WORD_BYTES)
    return [int.from_bytes(raw[i : i + WORD_BYTES], "little") for i in starts]


def _normals_of_halves(halves: NDArray[np.uint64]) -> Matrix:
    low, high = halves.T
    # A word is odd once its sign is taken, so that its lower half only says that there is more:
    # a last bit 1 below those that are rounded away says the same.
    tails: Matrix = (high | np.uint64(1)) * 2.0**-65
    for i in np.flatnonzero(high < _LONG):
        tails[i] = _tail_of((int(high[i]) << 64) | int(low[i]))
    z = inverse_normal(tails)
    return np.negative(z, out=z, where=(low & np.uint64(1)).astype(bool))
