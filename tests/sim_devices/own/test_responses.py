"""What is to be explained: classes, or a number."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.errors import FsirError
from sim_devices.own.frames import from_frame
from sim_devices.own.responses import read_responses


def responses(values):
    count = len(values)
    return read_responses(
        from_frame({"device": ["p"] * count, "y": values, "x": [0.0] * count}, "y", "device")
    )


def test_words_are_classes():
    found = responses(["walk", "sit", "", "walk"])
    assert found.classes == ("sit", "walk")
    assert found.known.tolist() == [True, True, False, True]
    assert found.notes == ("1 rows left out: they have no y",)


def test_few_whole_numbers_are_classes_and_that_is_told():
    found = responses(["1", "2", "3", "1"])
    assert found.classes == ("1", "2", "3")
    assert found.notes == ("y has 3 whole numbers: they are taken as classes",)


def test_other_numbers_are_a_quantity_and_what_stands_for_a_gap_is_one():
    found = responses(["1.5", "NA", "2.25", "nan", "-7"])
    assert found.classes == ()
    assert found.known.tolist() == [True, False, True, False, True]
    np.testing.assert_array_equal(found.y[found.known], [1.5, 2.25, -7.0])
    assert found.notes == ("2 rows left out: they have no y",)


@pytest.mark.parametrize("gap", ["NA", "n/a", "NaN", "?"])
def test_what_stands_for_a_gap_is_no_class(gap):
    found = responses(["walk", gap, "sit"])
    assert found.classes == ("sit", "walk")
    assert found.known.tolist() == [True, False, True]


def test_where_classes_are_meant_none_may_be_one():
    assert responses(["none", "mild", "none"]).classes == ("mild", "none")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["", ""], "no row has a value"),
        (["walk", "walk"], "every row has the value 'walk'"),
        ([f"text {k}" for k in range(300)], "300 different texts"),
    ],
)
def test_what_explains_nothing_is_refused(values, said):
    with pytest.raises(FsirError, match=said):
        responses(values)
