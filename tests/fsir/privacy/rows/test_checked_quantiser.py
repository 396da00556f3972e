"""A record's check says whether the public rule names its class, within the norm of the stage."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.contract import task_from_table
from fsir.privacy.accounting import free_scales
from fsir.privacy.budget import published_values, total_mu
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.privacy.quantiser import CheckedQuantiser, quantiser_of
from sim_devices.audit.shipped import reference
from tests.fsir.tasks import mapped

FEATURES = {"centre": [0.5, -1.0, 0.0, 0.1, 0.0, 3.0], "scale": [1.0, 2.0, 0.3, 1.0, 5.0, 1.0]}
CHECK = 1.7
TASK = mapped(6, 3, features=FEATURES, check=CHECK)
CENTRED = mapped(6, identity=True, features=FEATURES, check=CHECK)
STAGE = first_stage(TASK)
CLASSES = ("a", "b", "c")
both = pytest.mark.parametrize("task", [TASK, CENTRED], ids=["map", "centres only"])

tame = st.floats(-5.0, 5.0)
finite = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(st.one_of(tame, finite), min_size=6, max_size=6)
dirty_rows = st.lists(st.one_of(tame, st.floats()), min_size=6, max_size=6)
labels = st.sampled_from(CLASSES)
dirty_labels = st.sampled_from([*CLASSES, "d", 1, None])
near_rows = st.lists(st.one_of(tame, st.floats(-1e9, 1e9)), min_size=6, max_size=6)
near = st.lists(st.tuples(near_rows, labels), min_size=1, max_size=30)
records = st.lists(st.tuples(rows, labels), min_size=1, max_size=30)
dirty = st.lists(st.tuples(dirty_rows, dirty_labels), min_size=1, max_size=30)


def learned(records, task=TASK):
    moments = Moments(task, first_stage(task))
    for x, y in records:
        moments.learn_one(dict(zip(task.features.names, x, strict=True)), y)
    return moments


def clipped(task, X, slices):
    quantiser = quantiser_of(task, first_stage(task))
    return quantiser.clipped(quantiser.whole(np.array(X), np.array(slices)))


# --- the stage ------------------------------------------------------------------------------------


def test_the_stage_has_one_number_more_and_the_length_of_both_parts():
    plain = first_stage(mapped(6, 3, features=FEATURES))
    assert STAGE.p == STAGE.coordinates == plain.p + 1 == 4
    assert STAGE.sizes == (12, 3, 4, 6)
    assert published_values(TASK) == sum(STAGE.sizes)
    assert STAGE.truncate == STAGE.norm == pytest.approx(math.hypot(TASK.clip.norm, CHECK))
    assert type(quantiser_of(TASK, STAGE)) is CheckedQuantiser


def test_noise_follows_the_length_of_the_whole_row():
    s_M, s_S, c = free_scales(math.sqrt(TASK.clip.norm**2 + CHECK**2), total_mu(TASK))
    assert (STAGE.sums.sd, STAGE.counts.sd) == (s_M, s_M / c)
    assert (STAGE.diagonal.sd, STAGE.off_diagonal.sd) == (s_S, s_S / math.sqrt(2.0))
    # One coordinate more costs a few more errors of the sampler, and no other noise.
    plain = first_stage(mapped(6, 3, features=FEATURES))
    longer = STAGE.norm / plain.norm
    assert 1.0 < STAGE.sums.sd / (longer * plain.sums.sd) < 1.0 + 1e-7


# --- what one record adds -------------------------------------------------------------------------


@both
@given(x=rows, y=labels, C=st.floats(0.05, 3.0), ratio=st.floats(1 / 256, 256.0))
def test_no_row_is_ever_longer_than_the_norm_of_the_stage(task, x, y, C, ratio):
    identity = task is CENTRED
    clip = {"truncate": 2.0, "norm": C}
    check = min(max(C * ratio, C / 255.0), C * 255.0)
    shorter = mapped(6, 3, identity=identity, features=FEATURES, clip=clip, check=check)
    stage = first_stage(shorter)
    row = [int(v) for v in learned([(x, y)], shorter).sums()[:, CLASSES.index(y)]]
    square = Fraction(stage.grid) ** 2
    assert sum(v * v for v in row) * square <= Fraction(stage.norm) ** 2
    assert sum(v * v for v in row[:-1]) * square <= Fraction(C) ** 2
    assert abs(row[-1]) == math.floor(Fraction(check) / Fraction(stage.grid)) > 0


@both
@given(x=st.lists(tame, min_size=6, max_size=6), y=labels)
def test_the_check_is_the_nearest_centre_in_floats_away_from_ties(task, x, y):
    z = (np.array(x) - task.features.centre) / task.features.scale
    V = np.clip(z, -2.0, 2.0) @ task.public.matrix(6)
    distances = np.linalg.norm(V - task.public.centre_rows(), axis=1)
    order = np.argsort(distances)
    if distances[order[1]] - distances[order[0]] < 0.01:
        return
    row = clipped(task, [x], [CLASSES.index(y)])[0]
    assert (row[-1] > 0) == (order[0] == CLASSES.index(y))
    assert abs(row[-1]) * first_stage(task).grid == pytest.approx(CHECK, abs=first_stage(task).grid)


@both
@given(x=rows)
def test_of_three_classes_one_is_right(task, x):
    checks = clipped(task, [x] * 3, [0, 1, 2])[:, -1]
    assert (checks > 0).sum() == 1


def test_of_centres_at_the_same_place_the_first_is_the_nearest():
    table = TASK.table()
    centres = table["public"]["centres"]
    same = {**table["public"], "centres": centres[12:24] + centres[12:24] + centres[12:24]}
    task = task_from_table({**table, "public": same})
    X = np.random.default_rng(0).normal(size=(50, 6))
    for h in range(3):
        assert ((clipped(task, X, [h] * 50)[:, -1] > 0) == (h == 0)).all()


@both
@given(x=rows, y=labels)
def test_the_mapped_numbers_are_those_of_the_task_without_a_check(task, x, y):
    stage = first_stage(task)
    plain = mapped(6, 3, identity=task is CENTRED, features=FEATURES)
    h = [CLASSES.index(y)]
    ours = clipped(task, [x], h)[0, :-1] * stage.grid
    theirs = clipped(plain, [x], h)[0] * first_stage(plain).grid
    assert np.abs(ours - theirs).max() <= 2 * stage.grid


@both
@given(x=rows, y=labels, others=records, place=st.integers(0, 30))
def test_what_a_record_adds_does_not_depend_on_others(task, x, y, others, place):
    place = min(place, len(others))
    stream = [*others[:place], (x, y), *others[place:]]
    X = np.array([row for row, _ in stream])
    slices = task.slicing.slices_of([label for _, label in stream])
    block = clipped(task, X, slices)[place]
    alone = clipped(task, X[[place]], slices[[place]])[0]
    assert block.tolist() == alone.tolist()


@both
@given(stream=near)
def test_rows_are_those_of_the_second_implementation(task, stream):
    X = np.array([x for x, _ in stream])
    slices = task.slicing.slices_of([y for _, y in stream])
    stage = first_stage(task)
    found = clipped(task, X, slices) * stage.grid
    expected = reference.rows_of(task, stage, X, slices)
    assert found.tolist() == expected.tolist()


# --- streams --------------------------------------------------------------------------------------


@both
@given(stream=records, data=st.data())
def test_any_split_and_merge_order_gives_the_same_bits(task, stream, data):
    parts = [[] for _ in range(data.draw(st.integers(1, 4)))]
    for record in data.draw(st.permutations(stream)):
        parts[data.draw(st.integers(0, len(parts) - 1))].append(record)
    pieces = data.draw(st.permutations([learned(part, task) for part in parts]))
    while len(pieces) > 1:
        pieces[0].merge(pieces.pop())
    assert pieces[0].state() == learned(stream, task).state()


@both
@given(stream=dirty, size=st.integers(1, 9))
def test_many_at_once_are_the_same_as_one_by_one(task, stream, size):
    many = Moments(task, first_stage(task))
    for start in range(0, len(stream), size):
        block = stream[start : start + size]
        many.learn_many([x for x, _ in block], [y for _, y in block])
    assert many.state() == learned(stream, task).state()
    assert many.n == len(stream)
    assert many.counts().sum() + sum(many.refused.values()) == len(stream)


@both
@given(stream=dirty)
def test_the_last_numbers_count_right_less_wrong_ones(task, stream):
    moments = learned(stream, task)
    steps = math.floor(CHECK / moments.stage.grid)
    votes = moments.sums()[-1] / steps
    counts = moments.counts()
    assert (np.abs(votes) <= counts).all()
    assert ((counts - votes) % 2 == 0).all()
    assert moments.second()[-1, -1] == counts.sum() * steps**2


def test_blocks_larger_than_the_buffer_are_the_same_as_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.standard_t(2, size=(3000, 6))
    y = rng.choice(CLASSES, 3000)
    whole = Moments(TASK, STAGE)
    whole.learn_many(X, y)
    one_by_one = learned(zip(X.tolist(), y.tolist(), strict=True))
    assert whole.state() == one_by_one.state()


@both
def test_refused_records_are_null_and_have_no_check(task):
    moments = learned([([0.1] * 6, "b")], task)
    before = moments.state()["arrays"]
    moments.learn_many([[math.nan] * 6, [0.1] * 6, [math.inf] * 6], ["a", "d", "c"])
    moments.learn_one({"x0": 1.0}, "a")
    moments.refuse("no label")
    assert moments.n == 6
    assert moments.state()["arrays"] == before
