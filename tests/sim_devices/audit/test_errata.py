"""The errata of the paper that a number can show (docs/privacy.md);
E3, E7, E8 and E9 are in the verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fsir.privacy import accounting
from fsir.privacy import paper as published
from sim_devices.audit.bounds.check import check
from sim_devices.audit.pairs import Pair, Records
from sim_devices.datasets import models

DELTA = 1000**-1.1


def test_e1_a_variance_shrinks_with_n():
    """The paper's `n^2 epsilon^2 / (8 R^2 p log(2/delta))` is the inverse of what it is used as."""
    floors = [published.vgm_floor(3.0 * math.sqrt(10.0), n, 1.0, DELTA) for n in (100, 1000)]
    assert floors[1] == pytest.approx(floors[0] / 100.0)
    printed = 1000**2 / (8.0 * 9.0 * 10.0 * math.log(2.0 / DELTA))
    assert floors[1] == pytest.approx(1.0 / printed)


def test_e2_eigengaps_are_not_negative():
    gaps = published.eigengaps(np.array([3.0, 2.0, 0.5]), 5)
    assert gaps.tolist() == [1.0, 1.5, 0.5, 0.0, 0.0]


def test_e4_the_noise_of_vgm_is_the_signal():
    """Model III, n = 5000: the noise alone, without the data,
    estimates the subspace as well as the release."""
    rng = np.random.default_rng(0)
    n = 5000
    p = 10
    R = 3.0
    d = 2
    cuts = np.array(models.cut_points("III", p, "low"))
    losses = []
    for _ in range(12):
        basis = models.true_basis("III", p, "low", rng)
        X, y = models.simulate("III", n, p, "low", rng, basis=basis)
        X = np.clip(X, -R, R)
        slices = np.searchsorted(cuts, y, side="left")
        means = np.stack([X[slices == h].sum(axis=0) / n for h in range(8)], axis=1)
        M = means - np.outer(X.mean(axis=0), np.bincount(slices, minlength=8) / n)
        Z = rng.standard_normal((p, 8))
        noise = published.vgm_noise(M, published.vgm_floor(R * math.sqrt(p), n, 1.0, n**-1.1), Z, d)
        losses.append([loss(M + noise, basis), loss(noise, basis)])
    released, noise_alone = np.mean(losses, axis=0)
    assert noise_alone == pytest.approx(released, rel=0.1)
    assert noise_alone < 0.5  # of at most 2


def loss(M, basis):
    U = np.linalg.svd(M)[0][:, : basis.shape[1]]
    return np.linalg.norm(U @ U.T - basis @ basis.T)


def test_e5_the_classical_formula_wastes_noise_and_then_lacks_it():
    waste = [
        accounting.classical_sigma(1.0, e, DELTA) * accounting.mu_of(e, DELTA) for e in (1.0, 2.0)
    ]
    assert waste == pytest.approx([1.43, 1.29], abs=0.01)
    assert accounting.delta_of(1.0 / accounting.classical_sigma(1.0, 7.7, DELTA), 7.7) > DELTA


def test_e6_the_covariance_lemma_wastes_a_factor_that_grows_with_p():
    needed = math.sqrt(2.0) / accounting.mu_of(1.0, DELTA)
    factors = [accounting.lemma_sigma(p, 1, 1.0, DELTA) / needed for p in (10, 561)]
    assert factors == pytest.approx([13.3, 878.0], rel=0.01)


def test_e10_cut_points_from_the_data_relabel_other_records():
    """The lowest response becomes the highest:
    every local quantile moves, and each slice hands on its first record."""
    n = 800
    slices = 8
    R = 1.0
    p = 4
    X = np.zeros((n, p))
    X[:: n // slices] = R * (-1.0) ** np.arange(slices)[:, None]
    before = np.arange(n) * slices // n
    after = np.empty(n, np.int64)
    after[1:] = np.arange(n - 1) * slices // n
    after[0] = slices - 1
    pair = Pair(
        name="cuts",
        first=Records(X, before),
        second=Records(X, after),
        slices=slices,
        truncate=R,
        norm=R * math.sqrt(p),
    )
    assert (before != after).sum() == slices
    finding = check("gaussian", pair, 1.0, DELTA)
    assert finding.verdict == "violated"
    assert finding.bound.epsilon > 2.0


def test_e11_records_that_share_an_instant_are_one_unit():
    """Two overlapping windows change together:
    as two records of a task that protects one at a time, this is found."""
    n = 100
    p = 4
    R = 1.0
    X = np.zeros((n, p))
    X[:2] = R
    Y = X.copy()
    Y[:2] = -R
    labels = np.zeros(n, np.int64)
    pair = Pair(
        name="overlap",
        first=Records(X, labels),
        second=Records(Y, labels),
        slices=2,
        truncate=R,
        norm=R * math.sqrt(p),
    )
    assert check("gaussian", pair, 1.0, DELTA).bound.epsilon == pytest.approx(2.2, abs=0.1)
