"""Loadings with bars that mean what they say; the ellipse of the covariance behind a classifier."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.overview.picture import HEAVIEST, LARGEST, classes, directions
from fsir.estimate.subspace import projection_loss
from fsir.wire.messages import Classifier, Subspace
from tests.fsir.proposed import clouds_task
from tests.fsir.tasks import task


def subspace(basis: np.ndarray, error: float = 0.3) -> Subspace:
    p, d = basis.shape
    return Subspace(
        task=bytes(32),
        version=1,
        features=tuple(f"x{j}" for j in range(p)),
        basis=basis,
        singular_values=np.ones(d),
        noise_level=0.1,
        expected_error=error,
        devices=1,
        records=1,
    )


def test_bars_are_how_much_loadings_move_when_the_loss_is_as_expected() -> None:
    """Directions turned at random, whichever way, until their loss is as large as expected."""
    rng = np.random.default_rng(0)
    p = 6
    truth = np.linalg.qr(rng.normal(size=(p, 1)))[0]
    turned = truth + 0.09 * rng.normal(size=(20_000, p, 1))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    losses = np.array([projection_loss(truth, one) for one in turned[:500]])
    expected = float(np.sqrt((losses**2).mean()))
    shown = directions(task(4), subspace(3.0 * truth, expected))
    np.testing.assert_allclose(shown["bars"], (turned - truth).std(0)[:, 0], rtol=0.1)


def test_under_a_public_map_nothing_is_said_about_single_loadings() -> None:
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 2)))[0]
    shown = directions(clouds_task(200, 5, 3, 1.0), subspace(basis, 1.0))
    assert shown["bars"] is None
    assert shown["bar_means"].endswith("directions are off by about 30 degrees of 90")


def test_loadings_have_length_one_and_small_ones_are_left_out_of_many() -> None:
    basis = np.random.default_rng(1).normal(size=(300, 2)) * np.linspace(3, 0.1, 300)[:, None]
    shown = directions(task(4), subspace(basis))
    unit = basis / np.linalg.norm(basis, axis=0)
    chosen = [int(name[1:]) for name in shown["features"]]
    assert chosen == sorted(set(chosen))
    assert HEAVIEST <= len(chosen) <= HEAVIEST + 2 * LARGEST
    assert shown["left_out"] == 300 - len(chosen)
    assert set(np.argsort(-(unit**2).sum(1))[:HEAVIEST]) <= set(chosen)
    np.testing.assert_allclose(shown["loadings"], unit[chosen].T)
    few = directions(task(4), subspace(basis[:5]))
    np.testing.assert_allclose(np.linalg.norm(few["loadings"], axis=1), 1.0)
    assert few["left_out"] == 0


def test_of_each_direction_the_largest_loadings_are_there() -> None:
    """Also of one whose features matter little: one loading of it says where it points."""
    rng = np.random.default_rng(3)
    basis = np.zeros((560, 5))
    for k in range(4):
        basis[20 * k : 20 * (k + 1), k] = rng.normal(size=20)
    basis[80:, 4] = rng.normal(size=480)  # spread over so many that each is small
    shown = directions(task(4), subspace(basis))
    for k, row in enumerate(shown["loadings"]):
        unit = np.abs(basis[:, k] / np.linalg.norm(basis[:, k]))
        best = np.sort(np.abs(row))[::-1][:LARGEST]
        np.testing.assert_allclose(best, np.sort(unit)[::-1][:LARGEST])
        assert shown["left_out"] == 560 - len(row)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_ellipse_and_the_shares_are_those_that_the_classifier_was_made_with(d: int) -> None:
    rng = np.random.default_rng(d)
    H = 5
    centroids = rng.normal(size=(H, d))
    root = rng.normal(size=(d, d))
    covariance = root @ root.T + 0.1 * np.eye(d)
    shares = rng.dirichlet(np.full(H, 5.0))
    weights = np.linalg.solve(covariance, centroids.T).T
    bias = np.log(shares) - 0.5 * (weights * centroids).sum(1)
    found = classes(Classifier(tuple("abcde"), weights, bias, centroids))
    assert found is not None
    np.testing.assert_allclose(found["shares"], shares)
    np.testing.assert_allclose(found["centres"], centroids[:, :2])
    axes = np.array(found["spread"]["axes"])
    angle = np.radians(found["spread"]["angle_degrees"])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    k = min(d, 2)
    np.testing.assert_allclose(
        turn[:k, :k] @ np.diag(axes**2) @ turn[:k, :k].T, covariance[:2, :2], atol=1e-9
    )


def test_too_few_classes_for_an_ellipse_give_none() -> None:
    centroids = np.array([[1.0, 0.0], [-1.0, 0.0]])
    found = classes(Classifier(("a", "b"), centroids, np.zeros(2), centroids))
    assert found is not None
    assert found["spread"] is None
    assert classes(None) is None
