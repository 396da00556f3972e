"""What `termux-sensor` prints is cut into objects, wherever its pieces end."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.sources.termux.objects import LONGEST_BYTES, Objects

# As in an issue of the project (termux/termux-api, number 289).
PRINTED = b"""\
{
  "BMP280 Pressure": {
    "values": [
      1004.2263793945312,
      0,
      0
    ]
  }
}
"""
PRESSURE = {"BMP280 Pressure": {"values": [1004.2263793945312, 0, 0]}}


@given(
    cuts=st.lists(st.integers(0, 10**6), max_size=20),
    objects=st.lists(
        st.dictionaries(
            st.text(max_size=6),
            st.dictionaries(st.text(max_size=3), st.lists(st.floats(allow_nan=False), max_size=3)),
            max_size=3,
        ),
        max_size=5,
    ),
    indent=st.sampled_from([2, None]),
)
def test_pieces_of_any_size_give_the_same_objects(cuts, objects, indent):
    printed = "".join(json.dumps(one, indent=indent) + "\n" for one in objects).encode()
    places = sorted({0, len(printed), *(cut % (len(printed) + 1) for cut in cuts)})
    parser = Objects()
    found = []
    for low, high in pairwise(places):
        found += parser.feed(printed[low:high])
    assert found == objects
    assert parser.texts == []


def test_what_the_real_one_prints():
    parser = Objects()
    assert parser.feed(b"{}\n" + 2 * PRINTED) == [{}, PRESSURE, PRESSURE]


@pytest.mark.parametrize(
    ("garbage", "told"),
    [
        (b"No valid sensors were registered!\n", ["No valid sensors were registered!"]),
        (b"Caught interrupt.. Finishing...\n", ["Caught interrupt.. Finishing..."]),
        (PRINTED[:40] + b"\nSensor cleanup successful!\n", None),
        (PRINTED[:40] + b"\n", None),  # broken off
        (b"}\n]\n\x00\xff\n\n", None),
        (b"{ not JSON }\n", ["{ not JSON }"]),
        (b"{\n" + b"  x" * LONGEST_BYTES + b"\n", None),
        (b"x" * (LONGEST_BYTES + 1) + b"\n", None),
    ],
)
def test_garbage_costs_itself_alone(garbage, told):
    parser = Objects()
    assert parser.feed(PRINTED + garbage + PRINTED) == [PRESSURE, PRESSURE]
    assert parser.texts
    assert told is None or parser.texts == told


def test_memory_is_bounded_whatever_comes():
    parser = Objects()
    for piece in (b"x" * 10_000, b"{" + b" " * 10_000, b"\n  1," * 2_000):
        for _ in range(50):
            assert parser.feed(piece) == []
            assert len(parser._line) + parser._size <= 2 * LONGEST_BYTES
    parser.feed(b"\n")
    assert parser.feed(PRINTED) == [PRESSURE]
    assert max(len(text) for text in parser.texts) <= 80
