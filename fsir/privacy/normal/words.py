"""The standard normals that random words of 128 bits stand for.

The last bit of a word is the sign; the others, with a 1 after them, are how far out the normal
lies: the probability of the tail beyond it, rounded to 53 significant bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsir.arrays import Matrix
from fsir.privacy.normal import WORD_BYTES
from fsir.privacy.normal.inverse import inverse_normal

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 16384  # words at a time, so that all that is made of them stays in the cache
_LONG = 2**54  # upper halves of a word from here on decide how it is rounded


def normals_of(raw: bytes) -> Matrix:
    """The normals that the words of `raw` stand for, lowest byte first."""
    halves = np.frombuffer(raw, "<u8").reshape(len(raw) // WORD_BYTES, 2)
    normals = np.empty(len(halves))
    for start in range(0, len(halves), _BLOCK):
        block = slice(start, start + _BLOCK)
        normals[block] = _normals_of_halves(halves[block])
    return normals


def _normals_of_halves(halves: NDArray[np.uint64]) -> Matrix:
    low, high = halves.T
    # A word is odd once its sign is taken, so that its lower half only says that there is more:
    # a last bit 1 below those that are rounded away says the same.
    tails: Matrix = (high | np.uint64(1)) * 2.0**-65
    for i in np.flatnonzero(high < _LONG):
        tails[i] = _tail_of((int(high[i]) << 64) | int(low[i]))
    z = inverse_normal(tails)
    return np.negative(z, out=z, where=(low & np.uint64(1)).astype(bool))


def _tail_of(word: int) -> float:
    return (word | 1) / 2.0**129  # in (0, 1/2]; the division rounds to 53 significant bits
