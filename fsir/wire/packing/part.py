"""Some values of a packed vector, cut out without opening the others.

In the unary code a value ends at a one, so the ones of each byte, counted from a table, lead to the
byte where a part begins; of the remainders each has the same number of bits.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from fsir.errors import MessageError
from fsir.wire.packing.codec import Packed

WHOLE_BYTES = 8  # so many values have remainders that fill whole bytes, of any number of bits
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


def part(packed: Packed, start: int, stop: int) -> Packed:
    """The values from `start`, a multiple of `WHOLE_BYTES`, to `stop`, of a sound vector.

    >>> from fsir.wire.packing.codec import pack, unpack
    >>> unpack(part(pack([np.arange(100, 110), np.arange(50)]), 8, 13))
    (array([108, 109]), array([0, 1, 2]))
    """
    count = sum(packed.sizes)
    if (start, stop) == (0, count):
        return packed
    unary = np.frombuffer(packed.unary, np.uint8)
    ends = np.cumsum(_ONES.take(unary))
    if not len(ends) or ends[-1] != count:
        raise MessageError(f"packed block: it has not the {count} values that it announces")
    k = packed.k
    return Packed(
        sizes=part_sizes(packed.sizes, start, stop),
        centres=packed.centres,
        k=k,
        unary=np.packbits(_codes(unary, ends, start, stop)).tobytes(),
        remainders=packed.remainders[start * k // 8 : (stop * k + 7) // 8],
    )


def part_sizes(sizes: tuple[int, ...], start: int, stop: int) -> tuple[int, ...]:
    """How many of these values belong to each of the blocks."""
    ends = accumulate(sizes)
    return tuple(
        max(0, min(stop, end) - max(start, end - size))
        for size, end in zip(sizes, ends, strict=True)
    )


def _codes(
    unary: NDArray[np.uint8], ends: NDArray[np.integer], start: int, stop: int
) -> NDArray[np.uint8]:
    """The unary codes of some values, as bits; `ends` are values that end up to each byte."""
    first = int(np.searchsorted(ends, start)) if start else 0
    last = int(np.searchsorted(ends, stop))
    bits = np.unpackbits(unary[first : last + 1])
    before = int(ends[first - 1]) if first else 0
    begin = _end_of(bits[:8], start - before)
    end = len(bits) - 8 + _end_of(bits[-8:], stop - (int(ends[last - 1]) if last else 0))
    return bits[begin:end]


def _end_of(bits: NDArray[np.uint8], values: int) -> int:
    """Where so many values end."""
    return int(np.flatnonzero(bits)[values - 1]) + 1 if values else 0
