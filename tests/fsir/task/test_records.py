"""A record that is written into memory is the one that is read, or refused for the same reason."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import RecordError
from fsir.task.records import RecordReader
from tests.fsir.tasks import task

TASK = task(3)
READER = RecordReader(TASK, (0, 1, 2))
NAMES = TASK.features.names
numbers = st.one_of(st.floats(), st.integers(), st.booleans())
no_numbers = [None, "", "0x10", 1j, [1.0], (), 10**400, -(10**400), Fraction(10**400)]
odd_numbers = ["1_000", " 2.5 ", "1\0", "٣", b"1.5", Decimal("0.1"), Fraction(1, 3), 1.7e308]
of_numpy = [np.float64(0.5), np.float32(0.1), np.int64(3), np.array(2.0), np.array([2.0])]
not_finite = ["1e400", "nan", "-inf", math.inf, -math.inf, math.nan]
odd = st.sampled_from([*no_numbers, *odd_numbers, *of_numpy, *not_finite])
texts = st.floats().map(repr)
values = st.one_of(
    st.lists(numbers, min_size=3, max_size=3),
    st.lists(texts, min_size=3, max_size=3),
    st.lists(st.one_of(numbers, texts, odd), min_size=3, max_size=3),
)


def read(x, y):
    try:
        row, h = READER.read(x, y)
    except RecordError as error:
        return error.reason, str(error)
    return row.tobytes(), h


def written(x, y):
    memory = memoryview(np.empty(9)).cast("B")
    try:
        h = READER.write(x, y, memory, 24)
    except RecordError as error:
        return error.reason, str(error)
    return bytes(memory[24:48]), h


@given(values, st.sampled_from(["a", "b", "z", None, 1]))
def test_what_is_written_is_what_is_read(row, y):
    x = dict(zip(NAMES, row, strict=True))
    assert written(x, y) == read(x, y)


@pytest.mark.parametrize(
    "x",
    [
        {},
        {"x0": 1.0, "x1": 2.0},
        {"x0": 1.0, "x1": 2.0, "x2": 3.0, "x9": 4.0},
        [1.0, 2.0, 3.0],
        None,
        7,
        "x0",
    ],
)
def test_what_is_no_record_is_refused_for_the_same_reason(x):
    assert written(x, "a") == read(x, "a")


def test_one_feature_alone_is_a_row():
    reader = RecordReader(TASK, (1,))
    memory = memoryview(np.empty(1)).cast("B")
    assert reader.write({"x1": 0.25}, "a", memory, 0) == 0
    assert np.frombuffer(memory).tolist() == [0.25]
