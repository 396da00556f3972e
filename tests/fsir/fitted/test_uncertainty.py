"""How sure a loading is: what is derived from the expected error holds for real federations."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.subspace import estimate
from fsir.fitted.uncertainty import loading_sd, sine, unit_length
from tests.fsir.simulated import federations, model_task, true_directions


@pytest.mark.parametrize(("p", "d"), [(5, 1), (12, 3)])
def test_the_formula_is_that_of_an_error_without_a_preferred_way(p, d):
    rng = np.random.default_rng(p)
    basis = rng.normal(size=(p, d))
    Q = np.linalg.qr(basis)[0]
    ways = rng.normal(size=(40_000, p))
    ways -= ways @ Q @ Q.T
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    drawn = sine(0.4, d) * ways.std(axis=0)
    assert np.allclose(loading_sd(basis, 0.4), drawn, rtol=0.02)


def test_its_ends():
    basis = np.eye(3)[:, :1]
    assert loading_sd(basis, 0.3)[0] == 0.0  # the error is at right angles to the direction
    assert np.allclose(loading_sd(basis, 0.3)[1:], 0.3 / 2.0)
    assert not loading_sd(np.eye(2), 0.9).any()  # the whole space cannot be missed
    assert sine(9.0, 2) == 1.0
    assert np.allclose(np.linalg.norm(unit_length(np.array([[3.0, 0.0], [4.0, 2.0]])), axis=0), 1.0)


def within_whiskers(model: str, n: int, K: int, epsilon: float, count: int = 40) -> float:
    """The share of loadings whose true value lies within two standard deviations."""
    truth = np.linalg.qr(true_directions(model))[0]
    task = model_task(model, n, epsilon, d=truth.shape[1])
    inside = []
    for _, (totals,) in federations([task], model, n, K, count):
        subspace = estimate(task, totals)
        found = unit_length(subspace.basis)
        nearest = unit_length(truth @ (truth.T @ found))  # in the true space
        sd = loading_sd(subspace.basis, subspace.expected_error)
        inside.append(np.abs(found - nearest) <= 2.0 * sd[:, None])
    return float(np.mean(inside))


MODELS = ["I", "II", "III", "IV", "V"]


@pytest.mark.long
def test_whiskers_hold_about_19_of_20_loadings():
    """With much noise and with little."""
    shares = [within_whiskers(model, 500, 1, 2.0) for model in MODELS]
    shares += [within_whiskers(model, 1000, 10, 2.0) for model in MODELS[:2]]
    assert min(shares) > 0.84
    assert 0.90 < np.mean(shares) < 0.98


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_whiskers_hold_what_docs_using_says(model):
    """From 86% to 98% in all of 20 settings."""
    settings = ((1000, 10, 2.0), (1000, 50, 1.0), (500, 1, 2.0), (5000, 30, 2.0))
    shares = [within_whiskers(model, *setting) for setting in settings]
    print(model, *(f"{share:.3f}" for share in shares))
    assert min(shares) > 0.86
    assert max(shares) < 0.98
