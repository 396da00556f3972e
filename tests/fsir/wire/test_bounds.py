"""Bounds of a message: what msgpack makes is taken and counted, all else is one error."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsir.wire import bounds

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(width=32),
    st.binary(max_size=300),
    st.text(max_size=300),
    st.sampled_from([b"x" * 70_000, "y" * 70_000]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=40), inner, max_size=20)
    ),
    max_leaves=30,
)
MANY = 10**9


def parts(value):
    if isinstance(value, dict):
        return 1 + sum(parts(key) + parts(entry) for key, entry in value.items())
    return 1 + sum(map(parts, value)) if isinstance(value, list) else 1


def depth(value):
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@settings(max_examples=300, deadline=None)
@given(VALUES, st.booleans())
def test_it_counts_the_parts_of_every_message(value, single):
    raw = msgpack.packb(value, use_single_float=single)
    number = parts(value)
    deep = depth(value)
    bounds.check(raw, number, deep)
    with pytest.raises(ValueError, match="too many parts"):
        bounds.check(raw, number - 1, deep)
    if deep:
        with pytest.raises(ValueError, match="deep"):
            bounds.check(raw, number, deep - 1)


@pytest.mark.parametrize("length", [15, 16, 65535, 65536])
def test_lists_and_maps_of_every_width(length):
    bounds.check(msgpack.packb([0] * length), length + 1, 1)
    bounds.check(msgpack.packb(dict.fromkeys(range(length), 0)), 2 * length + 1, 1)
    with pytest.raises(ValueError, match="too many parts"):
        bounds.check(msgpack.packb(dict.fromkeys(range(length), 0)), 2 * length, 1)


@settings(max_examples=500, deadline=None)
@given(VALUES, st.data())
def test_what_passes_has_no_more_parts_than_were_counted(value, data):
    """Bytes damaged anywhere: refused, or as large as it was measured."""
    raw = bytearray(msgpack.packb(value))
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = bytes(raw[: data.draw(st.integers(1, len(raw)))])
    try:
        bounds.check(raw, MANY, 100)
        unpacked = msgpack.unpackb(raw, strict_map_key=False, unicode_errors="replace")
    except (ValueError, TypeError):  # by either of the two; a list as a key is a TypeError
        return
    assert parts(unpacked) <= parts_of(raw)  # equal keys become one


def parts_of(raw):
    low = 0
    high = len(raw)
    while low < high:
        middle = (low + high) // 2
        try:
            bounds.check(raw, middle, 100)
            high = middle
        except ValueError:
            low = middle + 1
    return low
