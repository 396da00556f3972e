"""Slices of a response: as asked, or by what the values are."""

from __future__ import annotations

import pytest

from aggregator.tasks.slices import (
    Answers,
    Wanted,
    rarest,
    slice_response,
    slices_with_centres,
)
from fsir.errors import FsirError


def answers(values):
    return Answers("y", values, list(range(2, len(values) + 2)))


WHOLE = answers([str(k % 3) for k in range(30)])
REAL = answers([f"{k / 10}" for k in range(30)])


def test_words_and_few_whole_numbers_are_classes_unless_somebody_says_otherwise():
    assert slice_response(WHOLE, Wanted()).slicing.classes == ("0", "1", "2")
    assert slice_response(WHOLE, Wanted(slices=2)).slicing.cuts == (1.0,)
    assert slice_response(WHOLE, Wanted(cuts=(0.5,))).slicing.cuts == (0.5,)
    assert slice_response(REAL, Wanted()).slicing.count == 8
    assert len(slice_response(REAL, Wanted(classes=True)).slicing.classes) == 30


def test_the_field_of_a_task_is_classes_or_cuts():
    assert slice_response(WHOLE, Wanted()).field == {"classes": ["0", "1", "2"]}
    assert slice_response(REAL, Wanted(cuts=(1.0, 2.0))).field == {"cuts": [1.0, 2.0]}


def test_the_rarest_slice_has_the_smallest_share_and_never_none():
    sliced = slice_response(answers(["a"] * 9 + ["b"]), Wanted())
    assert rarest(sliced, answers(["a"] * 9 + ["b"])) == ("b", 0.1)
    cut = slice_response(REAL, Wanted(cuts=(1.0, 99.0)))
    assert rarest(cut, REAL) == ("> 99", 1 / 30)


@pytest.mark.parametrize(
    ("values", "wanted", "told"),
    [
        (["a", "a"], Wanted(), "it has only the value 'a'"),
        (["1.5", "1.5"], Wanted(slices=2), "it has only the value '1.5'"),
        (["a", "b ", "b"], Wanted(), r"'b' \(line 4\) and 'b ' \(line 3\) differ in spaces alone"),
        (["a", "1"], Wanted(slices=2), "--slices is about numbers, and line 2 says 'a'"),
        (["1", "a"], Wanted(cuts=(0.0,)), "--cuts is about numbers, and line 3 says 'a'"),
        ([f"n{k}" for k in range(257)], Wanted(), "257 different values .* at most 256 classes"),
        ([*map(str, range(40)), "?!"], Wanted(), r"except in 1 of 41 rows, .* line 42, says '\?!'"),
    ],
)
def test_what_cannot_be_sliced_is_named_with_its_line(values, wanted, told):
    with pytest.raises(FsirError, match=rf"--response 'y': .*{told}"):
        slice_response(answers(values), wanted)


def test_numbers_of_slices_and_cuts_are_checked():
    with pytest.raises(FsirError, match="--slices 1: give a number between 2 and 256"):
        slice_response(REAL, Wanted(slices=1))
    with pytest.raises(FsirError, match="--cuts 2,2: cut points must increase strictly"):
        slice_response(REAL, Wanted(cuts=(1.0, 2.0, 2.0)))


def test_a_class_with_one_record_is_named_with_its_line():
    lonely = answers(["a", "a", "fly", "b", "b"])
    sliced = slice_response(lonely, Wanted())
    with pytest.raises(FsirError, match="--response 'y': line 4: class 'fly' has 1 public record"):
        slices_with_centres(sliced, lonely)
