"""Tight packing of noisy integers: Rice codes, close to the entropy of a rounded Gaussian and fast in numpy.

Each block is centred, values are folded to unsigned and split into a quotient (unary) and a remainder of `k` bits.
All blocks share `k`, because all are published at about the same resolution. Quotients and remainders are kept apart,
so that both directions are a handful of array operations, for one vector or for hundreds of the same layout at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsir.errors import MessageError
from fsir.limits import MAX_VALUES

Integers = NDArray[np.int64]
LARGEST = 2**53  # beyond this a value is not a sum that any task allows
_MOST_BITS = 52
_OUT_OF_RANGE = -(2**63)  # marks a row


class Packed(NamedTuple):
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
    bits = np.empty((folded.size, k), np.uint8)
    for bit in range(k):  # one at a time: all at once would take 8 k bytes a value
        bits[:, bit] = (folded >> bit) & 1
    return Packed(sizes, centres, k, np.packbits(unary).tobytes(), np.packbits(bits).tobytes())


def unpack(packed: Packed) -> tuple[Integers, ...]:
    """The blocks that `pack` was given; `MessageError` for anything that cannot be such."""
    rows, faults = unpack_many([packed], packed.sizes)
    if faults:
        raise MessageError(faults[0])
    cuts = list(accumulate(packed.sizes))
    return tuple(np.split(rows[0], cuts[:-1])) if cuts else ()


def unpack_many(batch: Sequence[Packed], sizes: tuple[int, ...]) -> tuple[Integers, dict[int, str]]:
    """One row of values for each packed vector with blocks of these sizes, and what is wrong with the others.

    Faults are keyed by the position in `batch`; the values of such a row mean nothing.
    """
    count = sum(sizes) if min(sizes, default=0) >= 0 and sum(sizes) <= MAX_VALUES else -1
    faults = {i: fault for i, packed in enumerate(batch) if (fault := _fault(packed, sizes, count))}
    sound = [i for i in range(len(batch)) if i not in faults] if faults else list(range(len(batch)))
    if not sound or not count:
        return np.zeros(
            (len(batch), 0), np.int64
        ), faults  # no memory for what a broken message announces
    lengths = np.array([len(batch[i].unary) for i in sound], np.int64)
    unary = np.unpackbits(np.frombuffer(b"".join([batch[i].unary for i in sound]), np.uint8))
    ends = np.flatnonzero(unary.view(np.bool_))  # ten times as fast as on bytes
    starts = np.concatenate(([0], 8 * np.cumsum(lengths)))
    found = np.diff(np.searchsorted(ends, starts))
    whole = found == count
    if not whole.all():
        for i, values in zip(sound, found.tolist(), strict=True):
            if values != count:
                faults[i] = f"packed block: {values} values found where {count} are announced"
        ends, starts = ends[np.repeat(whole, found)], starts[:-1][whole]
        sound = [i for i in sound if i not in faults]
    else:
        starts = starts[:-1]
    ends = ends.reshape(len(sound), count)  # type: ignore[assignment]
    rows = np.zeros((len(batch), count), np.int64)
    by_bits: dict[int, list[int]] = {}
    for row, i in enumerate(sound):
        by_bits.setdefault(batch[i].k, []).append(row)
    for group in by_bits.values():  # nearly always one
        members = [sound[row] for row in group]
        every = len(group) == len(sound)
        values = _values(
            ends if every else ends[group],
            starts if every else starts[group],
            [batch[i] for i in members],
            sizes,
        )
        for row in np.flatnonzero(values[:, 0] == _OUT_OF_RANGE).tolist():
            faults[members[row]] = "packed block: a value is out of range"
        if len(members) == len(batch):
            return values, faults
        rows[members] = values
    return rows, faults


def _fault(packed: Packed, sizes: tuple[int, ...], count: int) -> str | None:
    """What is wrong at first sight, before any memory is spent on it."""
    k = packed.k
    if packed.sizes != sizes or count < 0:
        return f"packed block: sizes {packed.sizes} where {sizes} are expected, {MAX_VALUES} at most in all"
    if not 0 <= k <= _MOST_BITS or len(packed.centres) != len(sizes):
        return f"packed block: k = {k} with {len(packed.centres)} centres is out of range"
    if sizes and not (max(packed.centres) <= LARGEST and min(packed.centres) >= -LARGEST):
        return "packed block: a centre is out of range"
    # The k that `pack` chooses leaves fewer than eight bits of unary code for each value, and at least one.
    if (
        len(packed.remainders) != (count * k + 7) // 8
        or not count <= 8 * len(packed.unary) <= 8 * count
    ):
        return f"packed block: {len(packed.unary)} + {len(packed.remainders)} bytes cannot be {count} values of {k} bits"
    return None


def _values(
    ends: Integers, starts: Integers, batch: Sequence[Packed], sizes: tuple[int, ...]
) -> Integers:
    """Rows of values that share `k`, from where their unary codes end; made in place, because memory is what costs."""
    k, count = batch[0].k, ends.shape[1]
    # No quotient is longer than its code: what honest noise makes fits into half of the memory.
    longest = 8 * max(len(packed.unary) for packed in batch)
    small = (longest << k) < 2**30 and int(ends[-1, -1]) < 2**31
    ends = ends.astype(np.int32) if small else ends
    values: NDArray[Any] = np.empty_like(ends)
    np.subtract(ends[:, 1:], ends[:, :-1], out=values[:, 1:])
    values[:, 0] = ends[:, 0] - (starts - 1)
    values -= 1
    far = np.zeros(len(batch), np.bool_) if small else values.max(axis=1) > LARGEST >> k
    values[far] = 0
    values <<= k
    if k:
        values |= _remainders(
            b"".join([packed.remainders for packed in batch]), len(batch), count, k
        )
    sign = values & 1
    values >>= 1
    values ^= np.negative(sign, out=sign)
    centres = np.array([packed.centres for packed in batch], np.int64)
    whole, start = values.astype(np.int64, copy=False), 0
    for j, size in enumerate(sizes):
        if size:
            whole[:, start : start + size] += centres[:, j : j + 1]
            start += size
    whole[far, 0] = _OUT_OF_RANGE
    return whole


def _remainders(raw: bytes, rows: int, count: int, k: int) -> NDArray[Any]:
    stored = np.frombuffer(raw, np.uint8).reshape(rows, -1)
    if 8 % k == 0:  # 4 for all noise of eight to sixteen steps, which is what devices send
        return np.asarray(_table(k)[stored].view(np.uint8)[:, :count])
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
