"""Packed integers come back as they were, and nothing else is taken for such."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsir.errors import MessageError
from fsir.limits import MAX_VALUES
from fsir.wire.packing.codec import Packed, pack, unpack, unpack_many
from fsir.wire.packing.rice import LARGEST

small = st.integers(-200, 200)
large = st.integers(-(2**50), 2**50)
blocks = st.lists(st.lists(st.one_of(small, large), max_size=30), min_size=1, max_size=4)


def arrays(lists):
    return [np.array(values, np.int64) for values in lists]


def single_block(size, k, unary, remainders=b""):
    """A packed vector whose first block has all values."""
    sizes = (size, 0, 0, 0)
    return Packed(sizes=sizes, centres=(0,) * 4, k=k, unary=unary, remainders=remainders)


@given(blocks)
@example([[]])
@example([[0], [], [2**50]])
@example([[0] * 1000 + [2**50]])
@example([[-(2**50), 2**50] * 20])
@example([[2**30 - 1], [1 - 2**30], [2**30], [-(2**30)]])
@example([[2**31 - 1], [1 - 2**31], [2**31], [-(2**31)]])
@example([[2**30 - 1 + i for i in range(-99, 99)], [-(2**30) + i for i in range(-99, 99)]])
def test_blocks_survive_the_journey(lists):
    assert [block.tolist() for block in unpack(pack(arrays(lists)))] == lists


@pytest.mark.parametrize("k", range(50))
def test_every_number_of_bits_survives_alone_and_among_others(k):
    """Small and large values take different roads through memory; both give what went in."""
    rng = np.random.default_rng(k)
    batch = [
        (rng.integers(-(2**k), 2**k, 37), rng.integers(2**k, 2 ** (k + 1), 5)) for _ in range(3)
    ]
    packed = [pack(blocks) for blocks in batch]
    rows, faults = unpack_many(packed, (37, 5))
    assert not faults
    for one, blocks, row in zip(packed, batch, rows, strict=True):
        np.testing.assert_array_equal(row, np.concatenate(blocks))
        np.testing.assert_array_equal(np.concatenate(unpack(one)), row)


@given(blocks)
def test_packing_is_deterministic_and_bounded_by_plain_integers(lists):
    packed = pack(arrays(lists))
    assert packed == pack(arrays(lists))
    values = sum(map(len, lists))
    assert len(packed.unary) + len(packed.remainders) <= 8 * values + 2
    assert len(packed.unary) <= max(values, 0)


@pytest.mark.parametrize("sd", [0.4, 2.0, 8.0, 12.0, 16.0, 1000.0])
def test_noise_is_packed_close_to_its_entropy(sd):
    values = np.rint(np.random.default_rng(0).normal(scale=sd, size=20_000)).astype(np.int64)
    packed = pack([values])
    _, counts = np.unique(values, return_counts=True)
    shares = counts / counts.sum()
    entropy = -(shares * np.log2(shares)).sum()
    bits = 8 * (len(packed.unary) + len(packed.remainders)) / len(values)
    assert entropy - 0.01 <= bits <= 1.1 * entropy + 0.3


def test_blocks_far_apart_do_not_pay_for_their_distance():
    noise = np.random.default_rng(0).normal(scale=10, size=1000).astype(np.int64)
    near = pack([noise, noise])
    far = pack([noise, noise + 10**9])
    assert abs(len(far.remainders) - len(near.remainders)) <= 1
    assert len(far.unary) == len(near.unary)


GOOD = pack(arrays([[1, 2, 3], [], [-4], [100, 7]]))


@pytest.mark.parametrize(
    "changes",
    [
        {"k": -1},
        {"k": 53},
        {"k": GOOD.k + 1},
        {"centres": (0, 0)},
        {"centres": (LARGEST + 1, 0, 0, 0)},
        {"sizes": (-1, 0, 1, 2)},
        {"sizes": (4, 0, 1, 2)},
        {"sizes": (2**31, 2**31, 2**31, 2**31)},
        {"unary": b""},
        {"unary": b"\xff" * 6},
        {"unary": b"\0" * 6},
        {"remainders": GOOD.remainders + b"\0"},
        {"remainders": b""},
    ],
)
def test_what_no_packing_gives_is_refused(changes):
    with pytest.raises(MessageError, match="packed block"):
        unpack(GOOD._replace(**changes))


def test_a_value_out_of_range_is_refused():
    unary = b"\0" * 63 + b"\1"
    with pytest.raises(MessageError, match="out of range"):
        unpack(single_block(64, 52, b"\0" * 8 + b"\xff" * 8, b"\0" * (64 * 52 // 8)))
    with pytest.raises(MessageError):
        unpack(single_block(1, 0, unary))


@given(
    st.tuples(*[st.integers(-1, 9)] * 4),
    st.tuples(*[st.integers(-LARGEST, LARGEST)] * 4),
    st.integers(-1, 60),
    st.binary(max_size=12),
    st.binary(max_size=12),
)
def test_any_fields_are_unpacked_or_refused(sizes, centres, k, unary, remainders):
    try:
        values = unpack(
            Packed(sizes=sizes, centres=centres, k=k, unary=unary, remainders=remainders)
        )
    except MessageError:
        return
    assert tuple(map(len, values)) == sizes
    assert all(np.abs(block).max(initial=0) <= 3 * LARGEST for block in values)


def test_memory_is_bounded_whatever_is_announced():
    hostile = [
        single_block(2**31, 0, b"\xff" * 2**22),
        single_block(2**25, 0, b"\xff" * 2**22),
        single_block(MAX_VALUES, 0, b"\xff" * (MAX_VALUES // 8 - 1) + b"\0"),
        single_block(0, 0, b"\0" * 2**22),
    ]
    tracemalloc.start()
    try:
        for packed in hostile:
            with pytest.raises(MessageError):
                unpack(packed)
        largest = single_block(MAX_VALUES, 8, b"\xff" * (MAX_VALUES // 8), b"\x55" * MAX_VALUES)
        assert len(unpack(largest)[0]) == MAX_VALUES
        assert tracemalloc.get_traced_memory()[1] < 200 * 2**20
    finally:
        tracemalloc.stop()


def test_nothing_packs_to_nothing():
    empty = [np.empty(0, np.int64)] * 4
    assert pack(empty) == single_block(0, 0, b"")
    assert [len(block) for block in unpack(pack(empty))] == [0] * 4
    assert math.isclose(pack([np.array([10**9])]).centres[0], 10**9)
