"""Tight packing of noisy integers: Rice codes, close to the entropy of a rounded Gaussian and fast in numpy.

Each block is centred, values are folded to unsigned and split into a quotient (unary) and a remainder of `k` bits.
All blocks share `k`, because all are published at about the same resolution. Quotients and remainders are kept apart,
so that both directions are a handful of array operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsir.errors import MessageError

Integers = NDArray[np.int64]
LARGEST = 2**53  # beyond this a value is not a sum that any task allows
_MOST_BITS = 52


@dataclass(frozen=True)
class Packed:
    """Blocks of integers as they go on the air."""

    sizes: tuple[int, ...]
    centres: tuple[int, ...]
    k: int
    unary: bytes
    remainders: bytes


def pack(blocks: Sequence[Integers]) -> Packed:
    """Pack blocks of integers."""
    sizes = tuple(len(block) for block in blocks)
    centres = tuple(int(np.median(block)) if len(block) else 0 for block in blocks)
    away = np.concatenate([block - centre for block, centre in zip(blocks, centres, strict=True)])
    if not away.size:
        return Packed(sizes, centres, 0, b"", b"")
    folded = np.where(away >= 0, 2 * away, -2 * away - 1)
    guess = int(np.log2(folded.mean() + 1.0))  # the best number of bits is next to this
    near = range(max(0, guess - 2), min(_MOST_BITS, guess + 2) + 1)
    k = min(near, key=lambda bits: folded.size * bits + int((folded >> bits).sum()))
    ends = np.cumsum((folded >> k) + 1) - 1
    unary = np.zeros(int(ends[-1]) + 1, np.uint8)
    unary[ends] = 1
    bits = ((folded[:, None] >> np.arange(k)) & 1).astype(np.uint8)
    return Packed(sizes, centres, k, np.packbits(unary).tobytes(), np.packbits(bits).tobytes())


def unpack(packed: Packed) -> tuple[Integers, ...]:
    """The blocks that `pack` was given; `MessageError` for anything that cannot be such."""
    k, count = packed.k, sum(packed.sizes)
    if not 0 <= k <= _MOST_BITS or len(packed.centres) != len(packed.sizes):
        raise MessageError(f"packed block: k = {k} with {len(packed.centres)} centres is out of range")
    if any(abs(centre) > LARGEST for centre in packed.centres) or any(size < 0 for size in packed.sizes):
        raise MessageError("packed block: a centre or a size is out of range")
    ends = np.flatnonzero(np.unpackbits(np.frombuffer(packed.unary, np.uint8)))
    if len(ends) != count or len(packed.remainders) != (count * k + 7) // 8:
        raise MessageError(f"packed block: {len(ends)} values of {k} bits found where {count} are announced")
    quotients = np.diff(ends, prepend=-1) - 1
    if count and int(quotients.max()) > LARGEST >> k:
        raise MessageError("packed block: a value is out of range")
    folded = quotients << k
    if k:
        bits = np.unpackbits(np.frombuffer(packed.remainders, np.uint8), count=count * k).reshape(count, k)
        folded += bits @ (1 << np.arange(k))
    away = (folded >> 1) ^ -(folded & 1)
    values = []
    start = 0
    for size, centre in zip(packed.sizes, packed.centres, strict=True):
        values.append(away[start : start + size] + centre)
        start += size
    return tuple(values)
