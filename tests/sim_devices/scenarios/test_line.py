"""The controls' least squares are the ones that everybody knows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sim_devices.scenarios import line, sir


def sample(n, p, seed=0):
    """A number that depends on correlated features, one of which never changes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 3.0
    X[:, 1] = 5.0
    return X, X[:, 0] - 0.5 * X[:, 2] + rng.normal(size=n)


@pytest.mark.parametrize(("n", "p"), [(200, 5), (20, 30)])
def test_plain_is_scikit_learn_s(n, p):
    X, y = sample(n, p)
    known = LinearRegression().fit(X, y)
    np.testing.assert_allclose(line.plain(X, y)[:, 0], known.coef_, rtol=1e-7, atol=1e-9)


def test_a_line_on_directions_explains_what_scikit_learn_says():
    X, y = sample(300, 6)
    Z = X @ np.random.default_rng(1).normal(size=(6, 2))
    assert sir.explained(Z, y) == pytest.approx(LinearRegression().fit(Z, y).score(Z, y), rel=1e-12)


def test_shrinking_helps_where_records_are_few():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1030, 25)) + 2.0 * rng.normal(size=(1030, 1))
    y = X.sum(axis=1) + 20.0 * rng.normal(size=1030)
    explained = [
        sir.explained(X[30:] @ fit(X[:30], y[:30]), y[30:]) for fit in (line.plain, line.shrunken)
    ]
    assert explained[1] > explained[0] + 0.05


def test_with_many_records_shrinking_changes_nothing():
    X, y = sample(20_000, 4)
    X = np.delete(X, 1, axis=1)
    np.testing.assert_allclose(line.shrunken(X, y), line.plain(X, y), rtol=0.05, atol=0.01)
