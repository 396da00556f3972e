"""Directions: what whitening, shrinkage and ridge do, and what each of them buys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsir.estimate.covariance import Levels, Merged, covariance, merged
from fsir.estimate.directions import directions, whitened
from fsir.estimate.subspace import projection_loss
from tests.fsir.simulated import federations, model_task, true_directions

SILENT = Levels(0.0, 0.0, 0.0, 0.0)


def test_in_much_noise_it_takes_the_plain_singular_vectors():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((5, 5))
    G = rng.standard_normal((5, 4))
    m = Merged(
        N=100,
        shares=np.full(4, 0.25),
        mean=np.zeros(5),
        M=G - G.mean(1, keepdims=True),
        Sigma=A @ A.T,
        levels=Levels(1e6, 0.0, 0.0, 0.0),
    )
    white = whitened(m, m.Sigma)
    U = np.linalg.svd(m.M)[0][:, :2]
    assert projection_loss(white.eigenvectors @ white.U[:, :2], U) < 1e-4
    assert white.mechanism == pytest.approx(1.0, abs=1e-4)


def test_replications_on_a_leading_axis_are_the_same_as_one_by_one():
    chosen = model_task("IV", 500, 4.0)
    many = [merged(totals) for _, [totals] in federations([chosen], "IV", 500, 4, 3)]
    parts = {
        name: np.stack([getattr(m, name) for m in many])
        for name in ("shares", "mean", "M", "Sigma")
    }
    stacked = Merged(N=many[0].N, levels=many[0].levels, **parts)
    together = directions(stacked, whitened(stacked, covariance(stacked)), 2)
    for m, beta in zip(many, together, strict=True):
        alone = directions(m, whitened(m, covariance(m)), 2)
        np.testing.assert_allclose(beta, alone, rtol=1e-8, atol=1e-12)


# --- what each idea buys --------------------------------------------------------------------------


def variants(m: Merged, d: int) -> dict[str, np.ndarray]:
    """The estimate, and what it would be without one of its parts or without all of them."""
    values, vectors = np.linalg.eigh(m.Sigma)
    raw = (vectors * np.maximum(values, 0.02)) @ vectors.T  # the bare minimum that makes an inverse
    Sigma = covariance(m)
    white = whitened(m, Sigma)
    no_ridge = replace(m, levels=replace(m.levels, off_diagonal=0.0))
    silent = replace(m, levels=SILENT)
    plain = np.linalg.svd(m.M)[0][:, :d]
    return {
        "all": directions(m, white, d),
        "no whitening, no ridge": np.linalg.solve(Sigma, plain),
        "sampling noise only": directions(silent, whitened(silent, Sigma), d),
        "no ridge": directions(no_ridge, replace(white, mechanism=np.zeros(())), d),
        "no shrinkage": directions(m, whitened(m, raw), d),
        "nothing": np.linalg.solve(raw, plain),
    }


def buys(sizes: list[tuple[int, int]], epsilons: tuple[float, ...], count: int) -> dict[str, float]:
    """Mean logarithm of the loss of each variant against the estimate; prints the losses."""
    ratios: dict[str, list[float]] = {}
    for n, K in sizes:
        for model in ("I", "II", "III", "IV", "V"):
            beta = true_directions(model)
            tasks = [
                model_task(model, n, epsilon, 2 * n**-1.1, beta.shape[1]) for epsilon in epsilons
            ]
            losses: list[dict[str, list[float]]] = [{} for _ in tasks]
            for _, reported in federations(tasks, model, n, K, count):
                for table, totals in zip(losses, reported, strict=True):
                    for name, basis in variants(merged(totals), beta.shape[1]).items():
                        table.setdefault(name, []).append(projection_loss(basis, beta))
            for epsilon, table in zip(epsilons, losses, strict=True):
                means = {name: float(np.mean(values)) for name, values in table.items()}
                figures = "  ".join(f"{name} {value:.3f}" for name, value in means.items())
                print(f"{model:3s} n {n} K {K} epsilon {epsilon:g}   {figures}")
                for name, value in means.items():
                    ratios.setdefault(name, []).append(np.log(value / means["all"]))
    return {name: float(np.exp(np.mean(values))) for name, values in ratios.items()}


def test_every_part_of_the_estimate_helps_where_there_is_much_noise():
    ratios = buys([(500, 1)], (2.0,), 40)
    assert ratios["nothing"] > 1.2
    assert all(ratio > 0.995 for ratio in ratios.values()), ratios


@pytest.mark.slow
def test_what_each_part_of_the_estimate_buys():
    ratios = buys([(500, 1), (1000, 10), (5000, 50)], (2.0, 4.0), 100)
    print(ratios)
    assert all(ratio > 0.995 for ratio in ratios.values()), ratios
