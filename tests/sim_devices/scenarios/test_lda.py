"""The controls' discriminant analysis is the one that everybody knows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sim_devices.scenarios import lda

LABELS = np.array(["walk", "sit", "lie"])


def sample(n, p, seed=0):
    """Three classes of correlated records, one feature constant, one a copy of another."""
    rng = np.random.default_rng(seed)
    y = LABELS[rng.choice(3, n, p=[0.5, 0.3, 0.2])]
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 3.0 * rng.normal(size=p)
    X[y == "sit", : p // 2] += 1.5
    X[y == "lie", p // 2 :] -= 1.5
    X[:, 0] = 7.0
    X[:, 2] = X[:, 1]
    return X, y


@pytest.mark.parametrize(("n", "p"), [(400, 6), (60, 40), (40, 60), (900, 80)])
def test_plain_predicts_what_scikit_learn_predicts(n, p):
    X, y = sample(n + 500, p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that features are collinear is the point
        expected = LinearDiscriminantAnalysis().fit(X[:n], y[:n]).predict(X)
    np.testing.assert_array_equal(lda.plain(X[:n], y[:n]).predict(X), expected)


@pytest.mark.parametrize(("n", "p"), [(400, 6), (60, 40), (40, 60)])
def test_shrunken_by_class_predicts_what_scikit_learn_predicts(n, p):
    X, y = sample(n + 500, p)
    X[y == "sit", 3] = 2.0  # constant in one class alone
    known = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X[:n], y[:n])
    found = lda.shrunken_by_class(X[:n], y[:n])
    np.testing.assert_array_equal(found.predict(X), known.predict(X))


def test_where_no_class_scatters_the_commonest_is_named():
    X = np.arange(8.0).reshape(4, 2)
    X[1] = X[0]
    model = lda.plain(X, np.array(["sit", "sit", "walk", "lie"]))
    assert set(model.predict(X)) == {"sit"}


def test_shrinkage_is_ledoit_and_wolf_s():
    X, _ = sample(80, 30)
    rows = X - X.mean(axis=0)
    expected = ledoit_wolf_shrinkage(rows, assume_centered=True)
    assert lda.ledoit_wolf(rows) == pytest.approx(expected, rel=1e-9)


def test_shrinking_helps_where_features_outnumber_records():
    rng = np.random.default_rng(4)
    y = LABELS[np.arange(1060) % 3]
    X = rng.normal(size=(1060, 80)) + (y == "sit")[:, None] - 0.5 * (y == "lie")[:, None]
    right = [
        np.mean(model(X[:60], y[:60]).predict(X[60:]) == y[60:])
        for model in (lda.plain, lda.shrunken)
    ]
    assert right[1] > right[0] + 0.05


def test_a_single_class_is_all_there_is_to_say():
    X, _ = sample(20, 5)
    assert set(lda.plain(X, np.full(20, "sit")).predict(X)) == {"sit"}
