"""The five models: their subspaces, their laws, and cut points that come from no data."""

from __future__ import annotations

import numpy as np
import pytest

from sim_devices.datasets import DataError
from sim_devices.datasets.models import (
    MODELS,
    active_size,
    cut_points,
    dimension,
    population,
    response_cdf,
    response_quantiles,
    simulate,
    slice_count,
    true_basis,
)

pytestmark = pytest.mark.long

SETTINGS = (("low", 10), ("high", 500), ("high", 1000), ("high-printed", 500))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("setting", "p"), SETTINGS)
def test_the_basis_is_that_of_the_paper(model, setting, p):
    beta = true_basis(model, p, setting, np.random.default_rng(0))
    assert beta.shape == (p, dimension(model))
    assert np.allclose(np.linalg.norm(beta, axis=0), 1)
    active = np.flatnonzero(beta.any(axis=1))
    assert active.tolist() == list(range(active_size(p, setting)))
    if dimension(model) == 1:
        assert beta[active].max() / beta[active].min() <= 2
    elif setting != "high-printed":
        assert beta[:, 0] @ beta[:, 1] == 0


def test_the_printed_beta2_overlaps_beta1():
    beta = true_basis("III", 500, "high-printed", np.random.default_rng(0))
    assert (beta[:6] > 0).astype(int).T.tolist() == [[1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0]]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("setting", "p"), SETTINGS)
def test_slices_between_the_public_cuts_are_equally_probable(model, setting, p):
    cuts = cut_points(model, p, setting)
    count = slice_count(model)
    assert len(cuts) == count - 1
    assert list(cuts) == sorted(set(cuts))
    n = 20_000_000 // p // 8
    _, y = simulate(model, n, p, setting, np.random.default_rng(11))
    share = np.bincount(np.searchsorted(cuts, y), minlength=count) / n
    # five standard errors, and for model II what its random beta may add
    tolerance = 5 * np.sqrt(1 / count / n) + (0.005 if model == "II" else 5e-4)
    assert np.abs(share - 1 / count).max() < tolerance


def test_the_random_beta_of_model_two_moves_a_slice_by_less_than_a_two_hundredth():
    """The law depends on beta only through the variance of the index:
    take the extremes of many draws."""
    Sigma = 0.5 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    rng = np.random.default_rng(2)
    betas = [true_basis("II", 10, "low", rng)[:, 0] for _ in range(2000)]
    variance = [beta @ Sigma @ beta for beta in betas]
    for extreme in (np.argmin(variance), np.argmax(variance)):
        _, y = simulate(
            "II", 400_000, 10, "low", np.random.default_rng(3), basis=betas[extreme][:, None]
        )
        share = np.bincount(np.searchsorted(cut_points("II", 10, "low"), y), minlength=8) / len(y)
        assert np.abs(share - 1 / 8).max() < 0.005


@pytest.mark.parametrize("model", MODELS[1:])
def test_ranks_and_quantiles_undo_each_other_and_ranks_are_uniform(model):
    probabilities = np.array([0.001, 1 / 32, 0.25, 0.5, 0.9, 0.999])
    quantiles = response_quantiles(model, probabilities, 10, "low")
    assert np.allclose(response_cdf(model, quantiles, 10, "low"), probabilities, atol=1e-9)
    _, y = simulate(model, 100_000, 10, "low", np.random.default_rng(4))
    rank = np.sort(response_cdf(model, y, 10, "low"))
    # Kolmogorov's distance; 1.95 / sqrt(n) is exceeded once in a thousand
    distance = np.abs(rank - (np.arange(len(y)) + 0.5) / len(y)).max()
    assert distance < 1.95 / np.sqrt(len(y)) + (0.005 if model == "II" else 2e-4)


@pytest.mark.parametrize("model", MODELS)
def test_features_have_the_covariance_of_the_model(model):
    X, y = simulate(model, 200_000, 6, "low", np.random.default_rng(5))
    if model == "V":
        X = X - np.column_stack([y, y**2]) @ true_basis("V", 6, "low", np.random.default_rng(5)).T
    expected = (
        0.5 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
        if model in ("II", "IV")
        else np.eye(6)
    )
    assert np.abs(X.T @ X / len(X) - expected).max() < 0.02


def sir(X: np.ndarray, y: np.ndarray, cuts: tuple[float, ...], d: int) -> np.ndarray:
    """Plain sliced inverse regression, here only to see that the
    models have the subspace that they claim."""
    h = np.searchsorted(cuts, y)
    centred = X - X.mean(axis=0)
    M = np.array([centred[h == k].sum(axis=0) for k in range(len(cuts) + 1)]).T / len(X)
    U = np.linalg.svd(M)[0][:, :d]
    return np.linalg.qr(np.linalg.solve(centred.T @ centred / len(X), U))[0]


@pytest.mark.parametrize("model", MODELS)
def test_the_subspace_can_be_found(model):
    rng = np.random.default_rng(6)
    beta = true_basis(model, 10, "low", rng)
    X, y = simulate(model, 200_000, 10, "low", rng, basis=beta)
    basis = sir(X, y, cut_points(model, 10, "low"), dimension(model))
    truth = np.linalg.qr(beta)[0]
    assert np.linalg.norm(basis @ basis.T - truth @ truth.T) < 0.15


@pytest.mark.parametrize("model", MODELS)
def test_many_clients_at_once_are_the_same_numbers(model):
    X, y = simulate(model, 30, 10, "low", np.random.default_rng(7), clients=4)
    assert X.shape == (4, 30, 10)
    assert y.shape == (4, 30)
    pooled, responses = simulate(model, 120, 10, "low", np.random.default_rng(7))
    assert np.array_equal(X.reshape(120, 10), pooled)
    assert np.array_equal(y.ravel(), responses)


def test_model_one_is_deterministic_as_in_the_tables_or_logistic():
    rng = np.random.default_rng(8)
    beta = true_basis("I", 10, "low", rng)
    X, y = simulate("I", 50_000, 10, "low", rng, basis=beta)
    index = (X @ beta)[:, 0]
    assert np.array_equal(y, (1 / (1 + np.exp(index)) > 0.5).astype(float))
    X, y = simulate("I", 50_000, 10, "low", rng, basis=beta, logistic=True)
    probability = 1 / (1 + np.exp((X @ beta)[:, 0]))
    assert abs((y - probability).mean()) < 0.01
    assert 0.2 < ((y > 0.5) != (probability > 0.5)).mean() < 0.4


@pytest.mark.parametrize("model", MODELS)
def test_as_a_population(model):
    made = population(model, devices=3, n=40, p=10, seed=9)
    assert (len(made.devices), len(made.unseen)) == (3, 2)
    assert made.classes == (("0", "1") if model == "I" else ())
    beta = true_basis(model, 10, "low", np.random.default_rng(9))
    if model == "I":
        stream = made.unseen[0]
        assert np.array_equal(stream.y == "1", (stream.X @ beta)[:, 0] < 0)
    again = population(model, devices=3, n=40, p=10, seed=9)
    assert all(np.array_equal(a.X, b.X) for a, b in zip(made.everyone, again.everyone, strict=True))
    assert not np.array_equal(
        made.devices[0].X, population(model, devices=3, n=40, p=10, seed=10).devices[0].X
    )


def test_what_does_not_exist_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="the models are I, II"):
        simulate("VI", 10, 10, "low", rng)
    with pytest.raises(DataError, match="choose one of low, high"):
        true_basis("II", 10, "middle", rng)
    with pytest.raises(DataError, match="at least 5"):
        true_basis("III", 4, "high", rng)
    with pytest.raises(DataError, match="needs"):
        simulate("III", 10, 10, "low", rng, basis=np.ones((10, 1)))
    with pytest.raises(DataError, match="two classes"):
        response_cdf("I", np.zeros(1), 10, "low")
    with pytest.raises(DataError, match="at least 2"):
        cut_points("II", 10, "low", slices=1)
