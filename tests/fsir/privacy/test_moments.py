"""Sums are exact, in any order and however they were split; bad records leave no trace."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import AccumulatorError, RecordError
from fsir.limits import MAX_RECORDS
from fsir.privacy.moments import Moments
from fsir.privacy.plan import all_stages, final_stage, first_stage
from fsir.privacy.quantiser import Quantiser
from fsir.privacy.sums import EXACT
from tests.fsir.tasks import screened, task

TASK = task(3, features={"centre": [0.5, -1.0, 0.0], "scale": [1.0, 2.0, 0.3]})
STAGE = first_stage(TASK)
NAMES = TASK.features.names

tame = st.floats(-5.0, 5.0)
finite = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(st.one_of(tame, finite), min_size=3, max_size=3)
labels = st.sampled_from(["a", "b", "c"])
records = st.lists(st.tuples(rows, labels), min_size=1, max_size=40)
dirty_rows = st.lists(st.one_of(tame, st.floats()), min_size=3, max_size=3)
dirty = st.lists(
    st.tuples(dirty_rows, st.sampled_from(["a", "b", "c", "d", 1, None])), min_size=1, max_size=40
)


def learned(records, task=TASK, stage=STAGE):
    moments = Moments(task, stage)
    for x, y in records:
        moments.learn_one(dict(zip(task.features.names, x, strict=True)), y)
    return moments


# --- exact sums -----------------------------------------------------------------------------------


@given(records, st.data())
def test_any_split_and_merge_order_gives_the_same_bits(stream, data):
    parts = [[] for _ in range(data.draw(st.integers(1, 5)))]
    for record in data.draw(st.permutations(stream)):
        parts[data.draw(st.integers(0, len(parts) - 1))].append(record)
    pieces = data.draw(st.permutations([learned(part) for part in parts]))
    while len(pieces) > 1:
        into = pieces.pop()
        into.merge(pieces.pop(data.draw(st.integers(0, len(pieces) - 1))))
        pieces.insert(data.draw(st.integers(0, len(pieces))), into)
    assert pieces[0].state() == learned(stream).state()


@given(dirty, st.integers(1, 9))
def test_many_at_once_are_the_same_as_one_by_one(stream, size):
    many = Moments(TASK, STAGE)
    for start in range(0, len(stream), size):
        block = stream[start : start + size]
        many.learn_many([x for x, _ in block], [y for _, y in block])
    one = learned(stream)
    assert many.state() == one.state()
    assert many.n == len(stream)
    assert many.counts().sum() + sum(many.refused.values()) == len(stream)


def test_blocks_larger_than_the_buffer_are_the_same_as_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.normal(scale=2.0, size=(5000, 3))
    y = rng.choice(["a", "b", "c"], 5000)
    whole = Moments(TASK, STAGE)
    pieces = Moments(TASK, STAGE)
    whole.learn_many(X, y)
    for start, end in ((0, 1), (1, 900), (900, 2500), (2500, 5000)):
        pieces.learn_many(X[start:end], y[start:end])
    assert whole.n == pieces.n == 5000
    one_by_one = learned(zip(X.tolist(), y.tolist(), strict=True))
    assert whole.state() == pieces.state() == one_by_one.state()


@given(records)
def test_sums_are_those_of_the_quantised_records_in_whole_numbers(stream):
    moments = learned(stream)
    quantiser = Quantiser(TASK, STAGE)
    K = [
        [int(v) for v in quantiser.clipped(quantiser.truncated(np.array([x])))[0]]
        for x, _ in stream
    ]
    slices = ["abc".index(y) for _, y in stream]
    for h in range(3):
        chosen = [row for row, slice_ in zip(K, slices, strict=True) if slice_ == h]
        assert moments.counts()[h] == len(chosen)
        assert moments.sums()[:, h].tolist() == [sum(row[j] for row in chosen) for j in range(3)]
    second = [[sum(row[i] * row[j] for row in K) for j in range(3)] for i in range(3)]
    assert moments.second().tolist() == second


def test_a_large_batch_equals_a_direct_computation():
    wide = task(30, response={"classes": None, "cuts": [-1.0, 0.0, 1.0]})
    rng = np.random.default_rng(1)
    X = rng.standard_t(3, size=(700, 30))
    y = rng.normal(size=700)
    moments = Moments(wide, first_stage(wide))
    moments.learn_many(X, y)
    quantiser = moments.quantiser
    K = quantiser.clipped(quantiser.truncated(X)).astype(np.int64)
    slices = np.digitize(y, [-1.0, 0.0, 1.0], right=True)
    one_hot = (slices[:, None] == np.arange(4)).astype(np.int64)
    assert np.array_equal(moments.sums(), K.T @ one_hot)
    assert np.array_equal(moments.second(), K.T @ K)
    assert np.array_equal(moments.counts(), one_hot.sum(axis=0))
    # ... and close to the data themselves, where nothing is clipped
    truncated = np.clip(X, -2.0, 2.0)
    short = np.linalg.norm(truncated, axis=1) < 0.95 * math.sqrt(30)
    grid = moments.stage.grid
    assert np.abs(K[short] * grid - truncated[short]).max() <= grid


# --- what is kept and what is not -----------------------------------------------------------------


@given(rows)
def test_the_callers_arrays_are_left_alone(x):
    X = np.array([x, x])
    before = X.copy()
    moments = Moments(TASK, STAGE)
    moments.learn_many(X, ["a", "b"])
    moments.sums()
    K = moments.quantiser.truncated(X).astype(np.int16)
    kept = K.copy()
    moments.add_quantised(K, np.array([0, 1]))
    assert np.array_equal(X, before)
    assert np.array_equal(K, kept)


@given(records)
def test_kept_rows_give_the_same_moments_at_any_later_stage(stream):
    two = screened(3, limit=3)
    last = final_stage(two, (0, 2))
    X = np.array([x for x, _ in stream])
    y = [y for _, y in stream]
    K = Quantiser(two, first_stage(two)).truncated(X).astype(np.int16)
    later = Moments(two, last)
    direct = Moments(two, last)
    later.add_quantised(K[:, [0, 2]], two.slicing.slices_of(y))
    direct.learn_many(X[:, [0, 2]], y)
    assert later.state() == direct.state()


# --- refused records ------------------------------------------------------------------------------

GOOD = {"x0": 0.1, "x1": 0.2, "x2": 0.3}
BAD = [
    ("missing feature", {"x0": 0.1, "x1": 0.2}, "a"),
    ("unknown feature", {**GOOD, "x9": 1.0}, "a"),
    ("unknown feature", {**GOOD, 7: 1.0, None: 2.0}, "a"),
    ("not finite", {**GOOD, "x1": math.nan}, "a"),
    ("not finite", {**GOOD, "x1": -math.inf}, "a"),
    ("not finite", {**GOOD, "x1": None}, "a"),
    ("not a number", {**GOOD, "x1": "high"}, "a"),
    ("not a number", {**GOOD, "x1": 10**400}, "a"),
    ("not a number", {**GOOD, "x1": [0.2]}, "a"),
    ("not a number", {name: [value] for name, value in GOOD.items()}, "a"),
    ("not a number", {**GOOD, "x1": 1j}, "a"),
    ("not a number", [0.1, 0.2, 0.3], "a"),
    ("unknown response", GOOD, "d"),
    ("unknown response", GOOD, None),
    ("unknown response", GOOD, math.nan),
    ("unknown response", GOOD, 0),
]


@pytest.mark.parametrize(
    ("reason", "x", "y"), BAD, ids=[f"{reason}-{i}" for i, (reason, *_) in enumerate(BAD)]
)
def test_a_bad_record_is_counted_and_leaves_no_trace(reason, x, y):
    moments = learned([([0.1, 0.2, 0.3], "b")])
    before = moments.state()["arrays"]
    moments.learn_one(x, y)
    assert moments.refused == {reason: 1}
    assert moments.n == 2
    assert moments.state()["arrays"] == before
    with pytest.raises(RecordError) as caught:
        moments.read(x, y)
    assert caught.value.reason == reason


def test_a_record_may_hold_features_of_the_task_that_the_stage_leaves_out():
    two = screened(3, limit=3)
    moments = Moments(two, final_stage(two, (1,)))
    moments.learn_one(GOOD, "a")
    moments.learn_one({"x1": 0.2}, "a")
    moments.learn_one({"x1": 0.2, "x7": 0.0}, "a")
    assert (moments.n, moments.refused) == (3, {"unknown feature": 1})


@pytest.mark.parametrize(
    ("X", "y"), [([[1.0, 2.0]], ["a"]), ([1.0, 2.0, 3.0], ["a"]), ([[1.0, 2.0, 3.0]], ["a", "b"])]
)
def test_a_batch_of_the_wrong_shape_is_an_error(X, y):
    moments = Moments(TASK, STAGE)
    with pytest.raises(RecordError, match=r"X has shape|responses for") as caught:
        moments.learn_many(X, y)
    assert caught.value.reason == "wrong shape"
    assert moments.n == 0


# --- the limit of exactness -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "stage", [STAGE, *all_stages(screened(3, limit=3, code="simplex"))], ids=lambda s: s.name
)
def test_sums_never_leave_the_range_of_exact_integers(stage):
    two = TASK if stage is STAGE else screened(3, limit=3, code="simplex")
    moments = Moments(two, stage)
    full = moments.state()
    low = 0
    high = 2**53
    while high - low > 1:  # the most records that the accumulator would hold
        middle = (low + high) // 2
        moments.restore({**full, "n": middle - 1})
        try:
            moments.learn_one(dict.fromkeys(two.features.names, 1.0), "a")
            low = middle
        except AccumulatorError:
            high = middle
            assert moments.n == middle - 1
    assert low >= MAX_RECORDS
    largest = int(min(moments.quantiser.reach, moments.quantiser.norm))
    assert low * largest * (largest if stage.has_second else 1024 if stage.code else 1) < EXACT


def test_a_batch_that_does_not_fit_is_not_half_added():
    moments = Moments(TASK, STAGE)
    moments.restore({**moments.state(), "n": 2**52})
    before = moments.state()
    with pytest.raises(AccumulatorError, match="report and start anew"):
        moments.learn_many([[0.0, 0.0, 0.0], [math.nan, 0.0, 0.0]], ["a", "a"])
    with pytest.raises(AccumulatorError):
        moments.add_quantised(np.zeros((1, 3), np.int16), np.array([0]))
    with pytest.raises(AccumulatorError):
        moments.merge(learned([([0.0, 0.0, 0.0], "a")]))
    assert moments.state() == before


# --- state ----------------------------------------------------------------------------------------


@given(dirty, dirty)
def test_a_restored_accumulator_goes_on_as_if_nothing_had_happened(before, after):
    source = learned(before)
    copy = Moments(TASK, STAGE)
    copy.restore(source.state())
    assert copy.state() == source.state()
    for moments in (source, copy):
        for x, y in after:
            moments.learn_one(dict(zip(NAMES, x, strict=True)), y)
    assert copy.state() == source.state()


def test_a_state_is_a_copy():
    moments = learned([([0.1, 0.2, 0.3], "b")])
    state = moments.state()
    frozen = {**state, "refused": dict(state["refused"])}
    moments.learn_one(GOOD, "b")
    moments.learn_one(GOOD, "d")
    assert moments.state() != state
    assert state == frozen


def test_restoring_replaces_whatever_was_there():
    moments = learned([([0.1, 0.2, 0.3], "b")] * 3)
    empty = Moments(TASK, STAGE).state()
    moments.restore(empty)
    assert (moments.n, moments.state()) == (0, empty)


def test_what_belongs_to_another_stage_or_task_is_refused():
    other = task(4)
    with pytest.raises(ValueError, match="another stage"):
        Moments(TASK, STAGE).restore(Moments(other, first_stage(other)).state())
    with pytest.raises(ValueError, match="same task and stage"):
        Moments(TASK, STAGE).merge(Moments(other, first_stage(other)))
    shifted = task(3, features={"centre": 1.0})
    plain = task(3)
    with pytest.raises(ValueError, match="same task and stage"):
        Moments(plain, first_stage(plain)).merge(Moments(shifted, first_stage(shifted)))
