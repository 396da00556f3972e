"""Counts are those of the records, however these come in pieces."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from edge_agent.watch.counts import BITS, Counts, ones
from fsir.privacy.plan import first_stage
from tests.fsir.tasks import task

OF = task(5, features={"centre": [0.0, 10.0, -3.0, 0.0, 5.0], "scale": [1.0, 2.0, 0.5, 1.0, 1.0]})
ENOUGH = 40


def records(n=400, seed=0):
    """Ordinary, slow, two-valued, constant and far features."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            np.round(10.0 + np.cumsum(rng.normal(size=n)) / 50.0, 1),
            rng.choice([-3.0, -2.0], n, p=[0.9, 0.1]),
            np.full(n, 0.25),
            rng.choice([5.0, 5000.0], n),
        ]
    )
    return X, rng.integers(0, 3, n)


def counts(*pieces):
    found = Counts(OF, first_stage(OF), ENOUGH)
    for X, slices in pieces:
        found.add(X, slices)
    return found


def told(found):
    return found.rows, found.slices.tolist(), found.far.tolist(), found.varying().tolist()


def brute(X):
    """The rarer side of the most balanced bit, of all records at once."""
    set_ = sum(ones(X[i : i + 1]).astype(int) for i in range(len(X)))
    return np.minimum(set_, len(X) - set_).max(axis=1)


def test_they_are_what_they_say():
    X, slices = records()
    found = counts((X, slices))
    assert found.rows == 400
    assert found.slices.tolist() == np.bincount(slices).tolist()
    assert found.far.tolist() == [0, 0, 0, 0, int((X[:, 4] > 1000).sum())]
    assert found.varying().tolist() == np.minimum(brute(X), ENOUGH).tolist()
    assert found.varying()[3] == 0, "a constant never varies"
    assert found.varying()[2] == int((X[:, 2] == -2.0).sum()), "two values: the rarer one"


@pytest.mark.parametrize("cuts", [[1, 2, 3], [50, 100, 255, 256], [399], list(range(1, 400, 7))])
def test_any_split_gives_the_same(cuts):
    X, slices = records()
    pieces = list(zip(np.split(X, cuts), np.split(slices, cuts), strict=True))
    assert told(counts(*pieces)) == told(counts((X, slices)))


@pytest.mark.parametrize("at", [0, 30, 200, 400])
def test_a_stored_count_goes_on(at):
    X, slices = records()
    before = counts((X[:at], slices[:at]))
    after = Counts(OF, first_stage(OF), ENOUGH)
    after.restore(before.state())
    after.add(X[at:], slices[at:])
    assert told(after) == told(counts((X, slices)))


def test_what_was_given_is_not_changed():
    X, slices = records()
    X.setflags(write=False)
    before = X.copy()
    counts((X, slices), (X[::2], slices[::2]))
    assert np.array_equal(X, before)


def test_equal_values_have_equal_bits():
    for value in (0.0, 1.0, -1.0, 20.5, 1e-300, 1e300, np.pi):
        assert set(ones(np.full((7, 1), value))[0].tolist()) <= {0, 7}
    assert ones(np.array([[0.0], [-0.0]]))[0].max() == 0, "a zero has no sign"


def test_round_values_that_people_use_differ_in_a_bit():
    """Two-valued features must not look constant: switches, signs, percents, degrees."""
    common = [0.0, 1.0, -1.0, 2.0, 3.0, 5.0, 10.0, 50.0, 100.0, 255.0, 0.5, 0.1, -40.0, 85.0]
    for one, other in combinations(common, 2):
        assert 1 in ones(np.array([[one], [other]]))[0].tolist(), (one, other)
    many = [k / 10.0 for k in range(-400, 400)]
    bits = {ones(np.array([[value]]))[0].tobytes() for value in many}
    assert len(bits) > 0.97 * len(many)


def test_all_bits_are_used():
    values = np.random.default_rng(1).normal(size=(255, 50))
    share = ones(values).astype(float).sum(axis=0) / (255 * 50)
    assert share.shape == (BITS,)
    assert (abs(share - 0.5) < 0.05).all()
