"""A mapped record adds what follows from it and public constants alone, and never more than C."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import RecordError
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.privacy.quantiser import MappedQuantiser, Quantiser, quantiser_of
from tests.fsir.tasks import mapped, task

FEATURES = {"centre": [0.5, -1.0, 0.0, 0.1, 0.0, 3.0], "scale": [1.0, 2.0, 0.3, 1.0, 5.0, 1.0]}
TASK = mapped(6, 3, features=FEATURES)
CENTRED = mapped(6, identity=True, features=FEATURES)
STAGE = first_stage(TASK)
CLASSES = ("a", "b", "c")
both = pytest.mark.parametrize("task", [TASK, CENTRED], ids=["map", "centres only"])

tame = st.floats(-5.0, 5.0)
finite = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(st.one_of(tame, finite), min_size=6, max_size=6)
dirty_rows = st.lists(st.one_of(tame, st.floats()), min_size=6, max_size=6)
labels = st.sampled_from(CLASSES)
dirty_labels = st.sampled_from([*CLASSES, "d", 1, None])
records = st.lists(st.tuples(rows, labels), min_size=1, max_size=30)
dirty = st.lists(st.tuples(dirty_rows, dirty_labels), min_size=1, max_size=30)


def learned(records, task=TASK):
    moments = Moments(task, first_stage(task))
    for x, y in records:
        moments.learn_one(dict(zip(task.features.names, x, strict=True)), y)
    return moments


def test_the_stage_has_all_features_and_the_coordinates_of_the_map():
    assert STAGE.features == (0, 1, 2, 3, 4, 5)
    assert STAGE.p == STAGE.coordinates == 3
    assert STAGE.sizes == (9, 3, 3, 3)
    assert STAGE.truncate == STAGE.norm == TASK.clip.norm
    plain = first_stage(task(6))
    assert plain.p == plain.coordinates == len(plain.features) == 6


def test_only_tasks_with_public_constants_are_mapped():
    plain = task(6)
    assert type(quantiser_of(plain, first_stage(plain))) is Quantiser
    assert type(quantiser_of(TASK, STAGE)) is MappedQuantiser


# --- what one record adds -------------------------------------------------------------------------


@both
@given(x=rows, y=labels, scale=st.floats(1e-3, 3.0))
def test_no_mapped_record_is_ever_longer_than_the_clip(task, x, y, scale):
    clip = {"truncate": 2.0, "norm": scale}
    shorter = mapped(6, 3, identity=task is CENTRED, features=FEATURES, clip=clip)
    stage = first_stage(shorter)
    row = [int(v) for v in learned([(x, y)], shorter).sums()[:, CLASSES.index(y)]]
    assert sum(v * v for v in row) * Fraction(stage.grid) ** 2 <= Fraction(scale) ** 2


@both
@given(x=st.lists(tame, min_size=6, max_size=6), y=labels)
def test_a_record_is_standardised_truncated_mapped_centred_and_then_clipped(task, x, y):
    wide = mapped(
        6, 3, identity=task is CENTRED, features=FEATURES, clip={"truncate": 2.0, "norm": 80.0}
    )
    public = wide.public
    z = (np.array(x) - wide.features.centre) / wide.features.scale
    P = public.matrix(6)
    r = P.T @ np.clip(z, -2.0, 2.0) - public.centre_rows()[CLASSES.index(y)]
    moments = learned([(x, y)], wide)
    grid = moments.stage.grid
    found = moments.sums()[:, CLASSES.index(y)] * grid
    rounding = 2.0**-18 * np.abs(P).sum(axis=0).max()
    assert (np.abs(found - r) <= grid + rounding).all()
    assert (np.abs(found) <= np.abs(r) + rounding).all()  # toward zero
    tight = learned([(x, y)], task)
    C = task.clip.norm
    clipped = np.clip(r, -C, C)
    clipped *= min(1.0, C / max(np.linalg.norm(clipped), 1e-300))
    step = tight.stage.grid
    assert (np.abs(tight.sums()[:, CLASSES.index(y)] * step - clipped) <= 3 * step).all()


@both
@given(x=rows, y=labels, others=records, place=st.integers(0, 30))
def test_what_a_record_adds_does_not_depend_on_others(task, x, y, others, place):
    place = min(place, len(others))
    X = np.array([row for row, _ in [*others[:place], (x, y), *others[place:]]])
    labels = [label for _, label in [*others[:place], (x, y), *others[place:]]]
    quantiser = quantiser_of(task, first_stage(task))
    slices = task.slicing.slices_of(labels)
    block = quantiser.clipped(quantiser.whole(X, slices))[place]
    alone = quantiser.clipped(quantiser.whole(X[[place]], slices[[place]]))[0]
    assert block.tolist() == alone.tolist()


@given(rows)
def test_another_class_is_another_centre_and_another_slice(x):
    wide = mapped(6, 3, features=FEATURES, clip={"truncate": 2.0, "norm": 200.0})
    grid = first_stage(wide).grid
    found = [learned([(x, y)], wide).sums()[:, h] * grid for h, y in enumerate(CLASSES)]
    centres = wide.public.centre_rows()
    assert np.abs((found[0] - found[2]) - (centres[2] - centres[0])).max() <= 2 * grid + 1e-4


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
    one = learned(stream, task)
    assert many.state() == one.state()
    assert many.n == len(stream)
    assert many.counts().sum() + sum(many.refused.values()) == len(stream)


@both
def test_blocks_larger_than_the_buffer_are_the_same_as_one_by_one(task):
    rng = np.random.default_rng(0)
    X = rng.standard_t(2, size=(3000, 6))
    y = rng.choice(CLASSES, 3000)
    whole = Moments(task, first_stage(task))
    pieces = Moments(task, first_stage(task))
    whole.learn_many(X, y)
    for start, end in ((0, 1), (1, 900), (900, 2500), (2500, 3000)):
        pieces.learn_many(X[start:end], y[start:end])
    one_by_one = learned(zip(X.tolist(), y.tolist(), strict=True), task)
    assert whole.state() == pieces.state() == one_by_one.state()


@given(dirty, dirty)
def test_a_restored_accumulator_goes_on_as_if_nothing_had_happened(before, after):
    source = learned(before)
    copy = Moments(TASK, STAGE)
    copy.restore(source.state())
    for moments in (source, copy):
        for x, y in after:
            moments.learn_one(dict(zip(TASK.features.names, x, strict=True)), y)
    assert copy.state() == source.state()


# --- records that are no good ---------------------------------------------------------------------


@both
def test_refused_records_are_null(task):
    moments = learned([([0.1] * 6, "b")], task)
    before = moments.state()["arrays"]
    moments.learn_many([[math.nan] * 6, [0.1] * 6, [math.inf] * 6], ["a", "d", "c"])
    moments.learn_one({"x0": 1.0}, "a")
    moments.refuse("no label")
    assert moments.n == 6
    assert moments.refused == {
        "not finite": 2,
        "unknown response": 1,
        "missing feature": 1,
        "no label": 1,
    }
    assert moments.state()["arrays"] == before


def test_records_beyond_all_bounds_are_truncated_before_the_map():
    far = np.full(6, 1e300)
    edge = np.array(TASK.features.centre) + 2.0 * np.array(TASK.features.scale)
    assert learned([(far, "a")]).state() == learned([(edge + 1e-9, "a")]).state()


def test_a_batch_must_have_the_inputs_not_the_coordinates():
    with pytest.raises(RecordError, match=r"must be \(records, 6\)"):
        Moments(TASK, STAGE).learn_many(np.zeros((2, 3)), ["a", "b"])


def test_accumulators_with_other_centres_do_not_merge():
    other = mapped(6, 3, features={"scale": 2.0})
    with pytest.raises(ValueError, match="same task and stage"):
        Moments(TASK, STAGE).merge(Moments(other, first_stage(other)))
