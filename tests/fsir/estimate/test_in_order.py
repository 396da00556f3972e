"""Products in a fixed order: the bits of a plain loop, whatever stands beside a row."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate import in_order


def by_hand(X, B):
    """The same in plain Python."""
    answers = []
    for row in X.tolist():
        sums = [row[0] * weight for weight in B[0].tolist()]
        for value, weights in zip(row[1:], B[1:].tolist(), strict=True):
            sums = [one + value * weight for one, weight in zip(sums, weights, strict=True)]
        answers.append(sums)
    return answers


@pytest.mark.parametrize(("n", "p", "k"), [(1, 1, 1), (1, 40, 1), (9, 40, 1), (50, 300, 4)])
@pytest.mark.parametrize(("few", "at_a_time"), [(1, 1), (1, 20), (1, 512), (1000, 512)])
def test_the_bits_are_those_of_a_plain_loop(n, p, k, few, at_a_time, monkeypatch):
    monkeypatch.setattr(in_order, "_FEW", few)
    monkeypatch.setattr(in_order, "_AT_A_TIME", at_a_time)
    rng = np.random.default_rng(n * p * k)
    X = rng.normal(size=(n, p))
    B = np.asfortranarray(rng.normal(size=(p, k)))
    found = in_order.product(X, B)
    assert found.tolist() == by_hand(X, B)
    assert np.allclose(found, X @ B)


def test_sums_of_rows_are_taken_from_left_to_right():
    X = np.random.default_rng(1).normal(size=(40, 33))
    assert in_order.row_sums(X)[:, 0].tolist() == [sum(row[1:], row[0]) for row in X.tolist()]


def test_no_rows_and_infinity():
    assert in_order.product(np.empty((0, 3)), np.ones((3, 2))).shape == (0, 2)
    assert in_order.product(np.array([[1e300, 1e300]]), np.full((2, 1), 1e200)) == [[np.inf]]
