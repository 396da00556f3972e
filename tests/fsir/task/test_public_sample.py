"""A public sample chooses features, centre, scale and clip of a task."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.task.public_sample import STRANGERS, forward_selection, standard, varying
from fsir.task.slicing import UNKNOWN

seeds = st.integers(0, 2**32 - 1)


def sample(seed, n=90, p=7, slices=3):
    """Records whose first features depend on the slice, the more the earlier."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % slices
    strength = rng.uniform(0, 4, size=(slices, p)) / np.arange(1, p + 1)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * 0.5 + strength[y], y


def by_determinants(X, y, keep):
    """The same by its definition: try every feature, compute both determinants."""
    within = X - np.stack([X[y == h].mean(axis=0) for h in range(y.max() + 1)])[y]
    W = np.cov(within.T, bias=True)
    T = np.cov(X.T, bias=True)
    more = STRANGERS * np.diag(np.diag(W))
    chosen = []
    for _ in range(keep):
        tried = {}
        for j in set(range(X.shape[1])) - set(chosen):
            these = np.ix_([*chosen, j], [*chosen, j])
            tried[j] = (
                np.linalg.slogdet((T + more)[these])[1] - np.linalg.slogdet((W + more)[these])[1]
            )
        chosen.append(max(tried, key=tried.__getitem__))
    return tuple(chosen)


@given(seeds)
def test_each_step_takes_the_feature_that_adds_most(seed):
    X, y = sample(seed)
    assert forward_selection(X, y, 4) == by_determinants(X, y, 4)


@given(seeds)
def test_units_and_the_order_of_records_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, y = sample(seed)
    order = rng.permutation(len(X))
    unit = 10.0 ** rng.uniform(-6, 6, X.shape[1])
    changed = X * unit + unit * rng.normal(size=X.shape[1])
    assert forward_selection(changed[order], y[order], 4) == forward_selection(X, y, 4)


def test_what_says_the_same_again_comes_after_what_says_something_else():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    strong = np.array([0.0, 0.0, 6.0])[y]
    weak = np.array([0.0, 3.0, 0.0])[y]
    X = np.stack([strong, strong, weak], axis=1) + rng.normal(size=(300, 3)) * 0.5
    assert forward_selection(X, y, 2)[1] == 2
    assert sorted(forward_selection(X, y, 9)) == [0, 1, 2]  # there are no more


def test_constants_are_never_taken_and_keep_their_unit():
    X, y = sample(1)
    X[:, 3] = 0.1  # whose standard deviation is not 0 in floating point
    assert varying(X).tolist() == [True, True, True, False, True, True, True]
    assert 3 not in forward_selection(X, y, 7)
    scale = standard(X).scale
    assert scale[3] == 1.0
    assert scale[:3] == pytest.approx(X[:, :3].std(axis=0))
    assert forward_selection(np.zeros((4, 2)), np.array([0, 1, 0, 1]), 2) == ()


def test_a_feature_that_tells_slices_apart_without_error_comes_first():
    X, y = sample(2)
    X[:, 5] = y
    assert forward_selection(X, y, 3)[0] == 5


def test_records_of_no_slice_do_not_count():
    X, y = sample(3)
    strange = np.random.default_rng(3).normal(size=(20, 7)) * 100
    more = np.concatenate([y, np.full(20, UNKNOWN)])
    assert forward_selection(np.concatenate([X, strange]), more, 4) == forward_selection(X, y, 4)


def test_half_of_the_records_keep_their_length():
    X, _ = sample(4)
    unit = standard(X)
    lengths = np.linalg.norm((X - unit.centre) / unit.scale, axis=1)
    assert 0.4 < np.mean(lengths <= unit.norm) < 0.6
