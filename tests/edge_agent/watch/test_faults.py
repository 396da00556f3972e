"""Every gross fault has too few witnesses, ordinary records have enough, and no unit moves much."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.watch.faults import counts_of, margins, plainest
from edge_agent.watch.threshold import Certain, Threshold
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from tests.fsir.tasks import mapped, task

N = 400
TASKS = (task(4, report={"records": N}), mapped(4, 3, report={"records": N}))


def judged(of, X, y, threshold=None):
    """The margins of a report about these records, as the agent's own accumulators see them."""
    stage = first_stage(of)
    counts = counts_of(of, stage)
    moments = Moments(of, stage, counts.add)
    moments.learn_many(X, y)
    moments.counts()
    return margins(
        of,
        stage,
        counts,
        n=moments.n,
        refused=moments.refused,
        threshold=threshold or Threshold(of),
    )


def ordinary(of, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, of.p)) * of.features.scale + of.features.centre
    return X, rng.choice(of.response.classes, n).tolist()


def stuck(X, y):
    X[:, 1] = 7.0
    return X, y


def unit(X, y):
    X[:, 2] *= 1000.0
    return X, y


def one_class(X, y):
    return X, ["b"] * len(y)


def empty(X, y):
    X[5:] = math.nan
    return X, y


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (stuck, "x1: the same value in nearly all of 400 records; is a sensor stuck?"),
        (unit, "x2: far outside of what the task expects in at least half of 400 records"),
        (one_class, "nearly all of 400 records are of one class of 'y', of 3"),
        (empty, "only 5 of 400 records can be used (not accepted: 395 not finite)"),
    ],
)
@pytest.mark.parametrize(
    "of", [task(4, report={"records": N}), mapped(4, 3, report={"records": N})]
)
def test_a_gross_fault_is_named(of, fault, said):
    for threshold in (Threshold(of), Certain()):
        found = plainest(judged(of, *fault(*ordinary(of)), threshold))
        assert found.margin < 0
        assert found.text.startswith(said)


@pytest.mark.parametrize(
    "of", [task(4, report={"records": N}), mapped(4, 3, report={"records": N})]
)
def test_ordinary_records_have_witnesses_to_spare(of):
    threshold = Threshold(of)
    smallest = min(fault.margin for fault in judged(of, *ordinary(of)))
    assert smallest >= 4.0 * threshold.sd - 1.0
    assert all(fault.margin > 0 for fault in judged(of, *ordinary(of), Certain()))


def test_half_of_the_records_gone_is_no_fault_of_the_others():
    """What is missing speaks neither for a stuck sensor nor for another unit."""
    of = task(4, report={"records": N})
    X, y = ordinary(of)
    X[::2] = math.nan
    assert all(fault.margin > 0 for fault in judged(of, X, y))
    X[:300] = math.nan
    assert all(fault.margin > 0 for fault in judged(of, X, y)), "100 records are not too few"


def test_of_many_features_one_that_never_changes_is_no_gross_fault():
    of = task(40, report={"records": N})
    X, y = ordinary(of)
    X[:, :3] = 1.0
    assert min(fault.margin for fault in judged(of, X, y)) > 0
    X[:, :4] = 1.0
    assert plainest(judged(of, X, y)).text.startswith("x0, x1, x2, x3: the same value")


def test_a_class_that_is_common_by_nature_is_no_fault():
    """With a public sample in which nearly all records are of one class, that is as expected."""
    public = mapped(4, 3).table()["public"] | {"shares": [0.98, 0.01, 0.01]}
    of = mapped(4, 3, public=public, report={"records": N})
    X, _ = ordinary(of)
    assert all(fault.margin > 0 for fault in judged(of, X, ["a"] * N))


def test_records_that_an_older_version_learned_speak_for_themselves():
    of = task(4, report={"records": N})
    stage = first_stage(of)
    found = margins(of, stage, counts_of(of, stage), n=N, refused={}, threshold=Threshold(of))
    assert all(fault.margin > 0 for fault in found)


# --- what the proof needs: a unit of g records moves the smallest margin by g at most -------------

VALUES = (0.0, 1.0, -1.0, 1e6, -1e6, math.nan, math.inf, 0.3, 2.0**-40)
LABELS = ("a", "b", "c", "?")
record = st.tuples(
    st.sampled_from(VALUES),
    st.sampled_from(VALUES),
    st.sampled_from(VALUES),
    st.sampled_from(LABELS),
)
BASES = (
    (0.0, 1.0, -1.0, "a"),
    (1e6, 0.0, 0.0, "b"),
    (math.nan, 0.0, 0.0, "a"),
    (0.3, 0.0, 1.0, "?"),
)


def rows(records):
    return np.array([one[:3] for one in records]), [one[3] for one in records]


@settings(max_examples=300, deadline=None)
@given(
    shares=st.lists(st.integers(0, 40), min_size=4, max_size=4),
    others=st.lists(record, max_size=25),
    unit_before=st.lists(record, min_size=1, max_size=3),
    unit_after=st.lists(record, min_size=3, max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_unit_moves_the_smallest_margin_by_more_than_its_records(
    shares, others, unit_before, unit_after, seed
):
    g = len(unit_before)
    rest = [base for base, times in zip(BASES, shares, strict=True) for _ in range(times)] + others
    np.random.default_rng(seed).shuffle(rest)
    at = seed % (len(rest) + 1)
    size = len(rest) + g
    of = task(
        3, privacy={"unit_records": g, "epsilon": 4.0, "delta": 0.05}, report={"records": size}
    )

    def smallest(unit):
        X, y = rows(rest[:at] + unit + rest[at:])
        return min(fault.margin for fault in judged(of, X, y))

    moved = smallest(unit_before) - smallest(unit_after[:g])
    assert abs(moved) <= g
