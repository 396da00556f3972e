"""Sums of a stream and the directions that they give."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.river.sums import Sums, turned
from fsir.estimate.subspace import projection_loss


def summed(X, slices):
    sums = Sums(X.shape[1])
    for u, h in zip(X, slices.tolist(), strict=True):
        sums.add(u, h)
    return sums


def clouds(n, seed=0):
    rng = np.random.default_rng(seed)
    slices = rng.integers(0, 3, n)
    mixed = rng.normal(size=(n, 5)) @ np.random.default_rng(9).normal(size=(5, 5))
    mixed[:, 0] += 2.0 * slices
    mixed[:, 3] -= 3.0 * (slices == 1)
    return mixed / mixed.std(axis=0), slices


def test_many_records_give_the_discriminant_directions():
    discriminant = pytest.importorskip("sklearn.discriminant_analysis")
    X, slices = clouds(20_000)
    mean, basis = summed(X, slices).directions(2)
    textbook = discriminant.LinearDiscriminantAnalysis(solver="eigen").fit(X, slices).scalings_
    assert projection_loss(basis, textbook[:, :2]) < 0.01
    assert np.allclose(mean, X.mean(axis=0))
    Z = (X - mean) @ basis
    assert np.allclose(np.cov(Z.T), np.eye(2), atol=0.01)


def test_few_records_are_judged_feature_by_feature():
    """Of ten records with two hundred features no correlation is to be believed."""
    rng = np.random.default_rng(4)
    slices = np.array([0, 1] * 5)
    X = rng.normal(size=(10, 200)) + 0.5 * slices[:, None] * rng.normal(size=200)
    _, basis = summed(X, slices).directions(1)
    alone = (X[slices == 1].mean(axis=0) - X[slices == 0].mean(axis=0)) / X.var(axis=0)
    assert projection_loss(basis, alone[:, None]) < 0.4


def test_slices_may_come_late_and_stay_empty():
    X, slices = clouds(300)
    sums = summed(X[slices == 2], slices[slices == 2])
    assert sums.directions(2) is None  # one slice: nothing to tell apart
    for u, h in zip(X[slices != 2], slices[slices != 2].tolist(), strict=True):
        sums.add(u, h + 5 if h == 1 else h)
    assert sums.n == 300
    _, basis = sums.directions(4)
    assert basis.shape == (5, 2)
    assert projection_loss(basis, summed(X, slices).directions(2)[1]) < 1e-6


def test_a_constant_feature_is_left_out_of_the_directions():
    X, slices = clouds(300)
    X[:, 2] = 0.0
    assert np.allclose(summed(X, slices).directions(2)[1][2], 0.0)


def test_a_basis_is_turned_toward_the_one_before_and_may_get_a_direction_more():
    rng = np.random.default_rng(0)
    before = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    third = np.linalg.qr(np.column_stack([before, rng.normal(size=6)]))[0]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    found = turned(third @ turn, before)
    assert np.allclose(found[:, :2], before)
    assert np.allclose(found.T @ found, np.eye(3))
    fewer = before[:, :1]
    assert turned(fewer, before) is fewer
