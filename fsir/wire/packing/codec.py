"""Tight packing of noisy integers, close to the entropy of a rounded Gaussian.

Each block is centred, then all values are Rice coded with the same `k`
(`fsir.wire.packing.rice`), because all are published at about the same resolution. Many vectors of
one layout are opened at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Integers
from fsir.errors import MessageError
from fsir.limits import MAX_VALUES
from fsir.wire.packing import rice
from fsir.wire.packing.rice import LARGEST, MOST_BITS

_OUT_OF_RANGE = -(2**63)  # marks a row


class Packed(NamedTuple):
    """Blocks of integers as they go on the air."""

    sizes: tuple[int, ...]
    centres: tuple[int, ...]
    k: int
    unary: bytes
    remainders: bytes


def pack(blocks: Sequence[Integers]) -> Packed:
    """Pack blocks of integers.

    >>> packed = pack([np.array([1, 2, 3]), np.array([100, 107])])
    >>> packed.centres
    (2, 103)
    >>> unpack(packed)
    (array([1, 2, 3]), array([100, 107]))
    """
    sizes = tuple(len(block) for block in blocks)
    centres = tuple(int(np.median(block)) if len(block) else 0 for block in blocks)
    away = np.concatenate([block - centre for block, centre in zip(blocks, centres, strict=True)])
    if not away.size:
        return Packed(sizes=sizes, centres=centres, k=0, unary=b"", remainders=b"")
    folded = rice.fold(away)
    k = rice.best_bits(folded)
    return Packed(
        sizes=sizes,
        centres=centres,
        k=k,
        unary=rice.quotient_bytes(folded, k),
        remainders=rice.remainder_bytes(folded, k),
    )


def unpack(packed: Packed) -> tuple[Integers, ...]:
    """The blocks that `pack` was given; `MessageError` for anything that cannot be such."""
    rows, faults = unpack_many([packed], packed.sizes)
    if faults:
        raise MessageError(faults[0])
    cuts = list(accumulate(packed.sizes))
    return tuple(np.split(rows[0].astype(np.int64), cuts[:-1])) if cuts else ()


def unpack_many(
    batch: Sequence[Packed], sizes: tuple[int, ...]
) -> tuple[NDArray[Any], dict[int, str]]:
    """One row of values for each packed vector with blocks of these sizes, and what is wrong.

    They have 32 bits where these are enough, because memory is what costs. Faults are keyed by the
    position in `batch`; the values of such a row mean nothing.
    """
    count = sum(sizes) if min(sizes, default=0) >= 0 and sum(sizes) <= MAX_VALUES else -1
    faults = {i: fault for i, packed in enumerate(batch) if (fault := _fault(packed, sizes, count))}
    sound = [i for i in range(len(batch)) if i not in faults]
    if not sound or not count:
        # No memory for what a broken message announces.
        return np.zeros((len(batch), 0), np.int64), faults
    return _opened(batch, sound, sizes, faults), faults


def unpack_known(batch: Sequence[Packed], sizes: tuple[int, ...]) -> NDArray[Any]:
    """One row of values for each vector, all of which were found sound before, or parts of such.

    Of a part the code may be longer than that of a whole vector.
    """
    faults: dict[int, str] = {}
    if any(packed.sizes != sizes for packed in batch):
        raise MessageError(f"packed block: not all have the sizes {sizes} that are expected")
    rows = _opened(batch, list(range(len(batch))), sizes, faults)
    if faults:
        raise MessageError(next(iter(faults.values())))
    return rows


def _opened(
    batch: Sequence[Packed], sound: list[int], sizes: tuple[int, ...], faults: dict[int, str]
) -> NDArray[Any]:
    """The rows of those that seem to be sound; what is wrong with them is added to the faults."""
    count = sum(sizes)
    sound, starts, ends = _whole_codes(batch, sound, count, faults)
    rows: NDArray[Any] | None = None
    for group in _by_bits([batch[i].k for i in sound]):
        every = len(group) == len(sound)
        members = [sound[row] for row in group]
        values = _values(
            starts if every else starts[group],
            ends if every else ends[group],
            [batch[i] for i in members],
            sizes,
        )
        for row in np.flatnonzero(values[:, 0] == _OUT_OF_RANGE).tolist():
            faults[members[row]] = "packed block: a value is out of range"
        if len(members) == len(batch):
            return values
        rows = np.zeros((len(batch), count), np.int64) if rows is None else rows
        rows[members] = values
    return np.zeros((len(batch), 0), np.int64) if rows is None else rows


def _whole_codes(
    batch: Sequence[Packed], sound: list[int], count: int, faults: dict[int, str]
) -> tuple[list[int], Integers, Integers]:
    """Those that have all of their values, where their codes start, and where each value ends.

    What is wrong with the others is added to the faults.
    """
    starts, ends, counts = rice.unary_codes([batch[i].unary for i in sound])
    whole = counts == count
    if not whole.all():
        for i, values in zip(sound, counts.tolist(), strict=True):
            if values != count:
                faults[i] = f"packed block: {values} values found where {count} are announced"
        starts = starts[whole]
        ends = ends[np.repeat(whole, counts)]
        sound = [i for i in sound if i not in faults]
    return sound, starts, ends.reshape(len(sound), count)


def _fault(packed: Packed, sizes: tuple[int, ...], count: int) -> str | None:
    """What is wrong at first sight, before any memory is spent on it."""
    k = packed.k
    if packed.sizes != sizes or count < 0:
        return (
            f"packed block: sizes {packed.sizes} where {sizes} are expected, "
            f"{MAX_VALUES} at most in all"
        )
    if not 0 <= k <= MOST_BITS or len(packed.centres) != len(sizes):
        return f"packed block: k = {k} with {len(packed.centres)} centres is out of range"
    if sizes and not (max(packed.centres) <= LARGEST and min(packed.centres) >= -LARGEST):
        return "packed block: a centre is out of range"
    unary = len(packed.unary)
    remainders = len(packed.remainders)
    # The k that `pack` chooses leaves fewer than eight bits of unary code for each value, and at
    # least one.
    if remainders != (count * k + 7) // 8 or not count <= 8 * unary <= 8 * count:
        return f"packed block: {unary} + {remainders} bytes cannot be {count} values of {k} bits"
    return None


def _by_bits(bits: list[int]) -> Iterable[list[int]]:
    """Positions that share their number of bits: nearly always all of them."""
    groups: dict[int, list[int]] = {}
    for position, k in enumerate(bits):
        groups.setdefault(k, []).append(position)
    return groups.values()


def _values(
    starts: Integers, ends: Integers, batch: Sequence[Packed], sizes: tuple[int, ...]
) -> NDArray[Any]:
    """Rows of values that share `k`, from where their unary codes start and end."""
    k = batch[0].k
    longest = 8 * max(len(packed.unary) for packed in batch)
    folded, far = rice.quotients(starts, ends, k, longest)
    folded <<= k
    if k:
        raw = b"".join([packed.remainders for packed in batch])
        folded |= rice.remainders(raw, len(batch), ends.shape[1], k)
    values = rice.unfold(folded)
    values = _add_centres(values, np.array([packed.centres for packed in batch], np.int64), sizes)
    if far.any():
        values[far, 0] = _OUT_OF_RANGE
    return values


def _add_centres(values: NDArray[Any], centres: Integers, sizes: tuple[int, ...]) -> NDArray[Any]:
    if values.dtype == np.int32 and np.abs(centres).max() < 2**30:
        centres = centres.astype(np.int32)  # values of 32 bits are below 2^30, too
    else:
        values = values.astype(np.int64, copy=False)
    start = 0
    for j, size in enumerate(sizes):
        if size:
            values[:, start : start + size] += centres[:, j : j + 1]
            start += size
    return values
