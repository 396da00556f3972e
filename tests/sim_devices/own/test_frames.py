"""Tables in memory: whatever a column is made of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fsir.errors import FsirError
from sim_devices.own.frames import from_frame

DEVICES = ["p1", "p2", None, "p1"]


def rows_of(**columns):
    table = {"device": DEVICES, "y": ["a", "b", "a", "b"], **columns}
    return from_frame(pd.DataFrame(table), "y", "device")


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, 4],
        [1.0, 2.0, 3.0, 4.0],
        np.array([1, 2, 3, 4], np.int8),
        pd.array([1, 2, 3, 4], dtype="Int64"),
        pd.Categorical([1, 2, 3, 4]),
    ],
)
def test_numbers_go_straight_in(values):
    found = rows_of(x=values).features["x"]
    np.testing.assert_array_equal(found.values, [1.0, 2.0, 4.0])
    assert found.strange == {}


@pytest.mark.parametrize(
    "values",
    [
        [1.0, np.nan, 3.0, 4.0],
        [1.0, np.inf, 3.0, 4.0],
        [1, None, 3, 4],
        pd.array([1, pd.NA, 3, 4], dtype="Int64"),
    ],
)
def test_gaps_are_gaps(values):
    found = rows_of(x=values).features["x"]
    np.testing.assert_array_equal(found.values, [1.0, np.nan, 4.0])
    assert found.strange == {}


def test_truth_values_are_numbers_and_texts_and_times_are_none():
    found = rows_of(
        on=[True, False, True, True],
        word=["x", "", "y", "z"],
        when=pd.to_datetime(["2024-01-01"] * 4),
    )
    np.testing.assert_array_equal(found.features["on"].values, [1.0, 0.0, 1.0])
    assert found.features["word"].strange == {0: "x", 2: "z"}
    assert set(found.features["when"].strange) == {0, 1, 2}
    assert np.isnan(found.features["when"].values).all()


def test_a_row_without_a_device_is_left_out_and_told():
    found = rows_of(x=[1, 2, 3, 4])
    assert found.devices == ["p1", "p2", "p1"]
    assert found.responses == ["a", "b", "b"]
    assert found.notes == ("1 rows left out: device is empty",)
    assert found.where(2) == "in row 3"


@pytest.mark.parametrize(
    ("response", "texts"),
    [
        ([True, False, True, True], ["True", "False", "True"]),
        ([1, 2, 3, 4], ["1", "2", "4"]),
        ([1.0, np.nan, 3.0, 4.5], ["1", "", "4.5"]),
        (pd.Categorical(["u", "v", "u", "v"]), ["u", "v", "v"]),
        (pd.array([1, pd.NA, 3, 4], dtype="Int64"), ["1", "", "4"]),
    ],
)
def test_responses_are_texts(response, texts):
    table = pd.DataFrame({"device": DEVICES, "y": response, "x": [1, 2, 3, 4]})
    assert from_frame(table, "y", "device").responses == texts


def test_numbers_keep_all_of_their_digits():
    y = [0.1 + 0.2, 1e-17, 123456789.123456789, 2.0]
    table = {"device": ["p"] * 4, "y": y, "x": [1, 2, 3, 4]}
    assert [float(text) for text in from_frame(table, "y", "device").responses] == y


def test_what_is_no_column_is_refused_in_the_words_of_the_library():
    with pytest.raises(FsirError, match="response='mood': the frame has no such column"):
        from_frame({"device": ["p"], "x": [1]}, "mood", "device")


def test_a_text_among_numbers_leaves_them_numbers():
    table = {"device": ["p"] * 3, "y": ["a", "b", "a"], "x": [1.5, "broken", 2]}
    found = from_frame(table, "y", "device").features["x"]
    np.testing.assert_array_equal(found.values, [1.5, np.nan, 2.0])
    assert found.strange == {1: "broken"}


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(FsirError, match="'x' has 2 values and 'device' 3"):
        from_frame({"device": ["p"] * 3, "y": ["a"] * 3, "x": [1, 2]}, "y", "device")
