"""Batches that are looked at later are learned as if they had been looked at at once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.privacy.rows.waiting import Waiting
from tests.fsir.tasks import task

OFFERED = task(3)
ACCEPTED = replace(OFFERED, version=1)
BY_CUT = task(3, response={"cuts": [-1.0, 0.5], "classes": []})
value = st.one_of(st.floats(-5.0, 5.0), st.sampled_from([math.nan, math.inf, -math.inf, 1.7e308]))
row = st.lists(value, min_size=3, max_size=3)
label = st.sampled_from(["a", "b", "c", "d", "other"])
number = st.one_of(st.floats(-3.0, 3.0), st.just(math.nan))
steps = ["learn_many", "learn_many", "learn_many", "learn_one", "refuse", "n", "refused", "sums"]


def histories(y):
    batch = st.lists(st.tuples(row, y), max_size=6)
    return st.lists(st.tuples(st.sampled_from(steps), batch, row, y), max_size=12)


def seen(moments, step, batch, x, y, as_array):
    """Take a step; what whoever takes it sees."""
    if step == "learn_many":
        responses = [response for _, response in batch]
        rows = np.array([values for values, _ in batch]).reshape(-1, 3)
        moments.learn_many(rows, np.array(responses) if as_array else responses)
        rows[:] = 9.0  # the caller may use its arrays again
        return None
    if step == "learn_one":
        return moments.learn_one(dict(zip(["x0", "x1", "x2"], x, strict=True)), y)
    if step == "refuse":
        return moments.refuse("unreadable")
    answer = getattr(moments, step)
    return answer().tobytes() if step == "sums" else str(answer)


def check(made, history):
    later = Moments(made, first_stage(made))
    at_once = Moments(made, first_stage(made))
    for step in history:
        assert seen(later, *step, as_array=True) == seen(at_once, *step, as_array=False)
    # As text: the order of the reasons counts, too.
    assert str(later.state()) == str(at_once.state())


@given(histories(label))
@pytest.mark.parametrize("made", [OFFERED, ACCEPTED], ids=["offered count", "accepted count"])
def test_labels_looked_up_later_give_the_same_in_the_same_order(made, history):
    check(made, history)


@given(histories(number))
def test_numbers_looked_up_later_give_the_same_in_the_same_order(history):
    check(BY_CUT, history)


def test_labels_of_several_widths_wait_together():
    moments = Moments(OFFERED, first_stage(OFFERED))
    for labels in (["a", "b"], ["c", "unknown"], ["b", "c"]):
        moments.learn_many(np.ones((2, 3)), np.array(labels))
    assert (moments.n, moments.refused) == (6, {"unknown response": 1})
    assert moments.counts().tolist() == [1.0, 2.0, 2.0]


def test_a_buffer_that_fills_up_is_emptied():
    size = Waiting(OFFERED.slicing, 3).size
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3 * size, 3))
    X[::100, 1] = math.nan
    y = np.array(["a", "b", "c", "d"])[rng.integers(4, size=len(X))]
    whole = Moments(OFFERED, first_stage(OFFERED))
    whole.learn_many(X, y)
    for batch in (1, 7, 64, 1000, size, size + 1):
        pieces = Moments(OFFERED, first_stage(OFFERED))
        for start in range(0, len(X), batch):
            pieces.learn_many(X[start : start + batch], y[start : start + batch])
        assert pieces.state() == whole.state()
