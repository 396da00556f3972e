"""From a response to its slice."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.task.slicing import UNKNOWN, Slicing

BY_CLASS = Slicing(classes=("1", "2", "walk"))
BY_CUT = Slicing(cuts=(-1.0, 0.0, 2.5))
anything = st.one_of(
    st.floats(),
    st.integers(),
    st.booleans(),
    st.none(),
    st.text(max_size=4),
    st.sampled_from(["1", "walk", 2, 1.0, b"1"]),
)


@given(st.floats(allow_nan=False))
def test_a_number_falls_between_its_cut_points(y):
    h = BY_CUT.slice_of(y)
    edges = (-math.inf, *BY_CUT.cuts, math.inf)
    assert edges[h] < y <= edges[h + 1] or (y == -math.inf and h == 0)


@given(st.lists(anything, max_size=20))
@pytest.mark.parametrize("slicing", [BY_CLASS, BY_CUT], ids=["classes", "cuts"])
def test_many_are_sliced_like_each(slicing, y):
    expected = [slicing.slice_of(value) for value in y]
    assert slicing.slices_of(y).tolist() == expected
    boxed = np.empty(len(y), object)
    boxed[:] = y
    assert slicing.slices_of(boxed).tolist() == expected


@pytest.mark.parametrize(
    "kind", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, np.uint64]
)
def test_arrays_of_numbers_are_sliced_like_each(kind):
    y = np.array([0, 1, 2, 3, 100]).astype(kind)
    for slicing in (BY_CUT, BY_CLASS):
        assert slicing.slices_of(y).tolist() == [slicing.slice_of(value) for value in y]


@pytest.mark.parametrize("label", ["2", 2, np.int64(2), np.str_("2")])
def test_a_class_is_its_text(label):
    assert BY_CLASS.slice_of(label) == 1


@pytest.mark.parametrize("y", [math.nan, None, "high", [1.0], 1j, 10**400, np.nan])
def test_what_is_not_a_number_has_no_interval(y):
    assert BY_CUT.slice_of(y) == UNKNOWN


@pytest.mark.parametrize("y", ["fly", "", None, math.nan, 2.0, b"1", ["walk"]])
def test_what_is_not_a_class_has_no_slice(y):
    assert BY_CLASS.slice_of(y) == UNKNOWN


def test_infinite_responses_belong_to_the_outer_slices():
    assert BY_CUT.slices_of([-math.inf, math.inf]).tolist() == [0, 3]


def test_slices_are_named_for_people():
    assert BY_CLASS.labels == ("1", "2", "walk")
    assert BY_CUT.labels == ("<= -1", "(-1, 0]", "(0, 2.5]", "> 2.5")
    assert (BY_CLASS.count, BY_CUT.count) == (3, 4) == (len(BY_CLASS.labels), len(BY_CUT.labels))
