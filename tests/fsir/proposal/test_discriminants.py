"""A public map: nested, of unit variance within slices, and with the sample's own classifier."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.proposal.discriminants import (
    RIDGES,
    blocks,
    choose_ridge,
    discriminant_map,
    ridged,
    slice_means,
)

H = 4


def sample(n=120, p=12, seed=0):
    rng = np.random.default_rng(seed)
    slices = np.arange(n) % H
    centres = rng.normal(size=(H, p))
    mixing = rng.normal(size=(p, p)) / p**0.5 + np.eye(p)
    return centres[slices] + rng.normal(size=(n, p)) @ mixing, slices


def test_fewer_coordinates_are_the_first_of_many():
    X, slices = sample()
    largest = discriminant_map(X, slices, H, 0.3, 12)
    assert largest.shape == (12, 12)
    for q in (1, 3, 7):
        assert discriminant_map(X, slices, H, 0.3, q) == pytest.approx(largest[:, :q])


@pytest.mark.parametrize("p", [12, 200])
def test_the_covariance_within_slices_is_the_identity_up_to_the_ridge(p):
    X, slices = sample(p=p)
    for ridge in RIDGES:
        P = discriminant_map(X, slices, H, ridge, 10)
        W = ridged(X, slices, H, ridge)
        assert P.T @ W.power(1.0, P) == pytest.approx(np.eye(10), abs=1e-8)
        residuals = (X - slice_means(X, slices, H)[slices]) @ P
        within = residuals.T @ residuals / (len(X) - H)
        assert np.linalg.eigvalsh(within).max() < 1.0 + 1e-9
        assert within == pytest.approx(np.eye(10) - W.ridge * P.T @ P, abs=1e-8)


@pytest.mark.parametrize("p", [12, 200])
def test_the_classifier_of_the_sample_lies_in_the_first_coordinates(p):
    X, slices = sample(p=p)
    W = ridged(X, slices, H, 0.3)
    means = slice_means(X, slices, H)
    weights = W.power(-1.0, (means - means.mean(axis=0)).T)  # of ridge LDA, features x slices
    P = discriminant_map(X, slices, H, 0.3, 10)[:, : H - 1]
    inside = P @ np.linalg.lstsq(P, weights, rcond=None)[0]
    assert inside == pytest.approx(weights, abs=1e-8 * np.abs(weights).max())


def test_powers_undo_each_other():
    X, slices = sample(p=200)
    W = ridged(X, slices, H, 0.3)
    A = np.random.default_rng(1).normal(size=(200, 2))
    assert W.power(0.5, W.power(-0.5, A)) == pytest.approx(A)


def test_an_empty_slice_lies_where_all_records_do():
    X = np.arange(6.0).reshape(3, 2)
    means = slice_means(X, np.array([0, 0, 2]), 3)
    assert means[1] == pytest.approx(X.mean(axis=0))


def test_with_few_records_of_many_features_a_large_ridge_is_chosen():
    rng = np.random.default_rng(0)
    slices = np.arange(40) % 2
    X = rng.normal(size=(40, 100)) + np.outer(slices, np.full(100, 0.3))
    assert choose_ridge(X, slices, 2, blocks(slices, 2)) in RIDGES[1:]


def test_blocks_hold_every_slice_and_neighbours_stay_together():
    slices = np.random.default_rng(0).integers(0, 3, 100)
    found = blocks(slices, 3)
    for k in range(5):
        assert set(slices[found == k]) == {0, 1, 2}
    for h in range(3):
        assert (np.diff(found[slices == h]) >= 0).all()
