"""The estimate knows how far off it is, and how many directions there are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fsir.estimate.covariance import Levels, centred, covariance, merged
from fsir.estimate.directions import count_directions, noise_level, whitened
from fsir.estimate.subspace import estimate, projection_loss
from fsir.privacy.plan import first_stage
from sim_devices.paper.exact import ExactMoments
from tests.fsir.simulated import P, federations, model_task, true_directions

SILENT = Levels(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Means over federations: how far off the estimate is and says it is, and what it counts."""

    loss: float
    expected: float
    found: float
    invented: float
    weakest: float  # true singular value of the last direction, over the noise level

    def __str__(self) -> str:
        figures = "  ".join(f"{name} {value:.4f}" for name, value in vars(self).items())
        return f"{figures}  ratio {self.expected / self.loss:.3f}"


def run(
    model: str, n: int, K: int, count: int, epsilons: tuple[float, ...]
) -> dict[float, Figures]:
    """Simulated federations, by epsilon."""
    beta = true_directions(model)
    d = beta.shape[1]
    N = n * K
    tasks = [model_task(model, n, epsilon, d=d) for epsilon in epsilons]
    q = len(tasks[0].response.cuts)
    losses, expected, counted = (np.zeros((len(tasks), count)) for _ in range(3))
    pooled = ExactMoments(N * count, np.zeros((P, q + 1)), np.zeros(q + 1), np.zeros((P, P)))
    levels = [SILENT] * len(tasks)
    for r, (exact, reports) in enumerate(federations(tasks, model, n, K, count)):
        _pool(pooled, exact)
        for i, (task, totals) in enumerate(zip(tasks, reports, strict=True)):
            subspace = estimate(task, totals)
            losses[i, r] = projection_loss(subspace.basis, beta)
            expected[i, r] = subspace.expected_error
            counted[i, r] = count_directions(subspace.singular_values, P, q, N)
            levels[i] = merged(totals).levels
    figures = {}
    for i, epsilon in enumerate(epsilons):
        truth = _true_singular_values(pooled, first_stage(tasks[i]).grid, N, levels[i])
        figures[epsilon] = Figures(
            loss=losses[i].mean(),
            expected=expected[i].mean(),
            found=(counted[i] == d).mean(),
            invented=(counted[i] > d).mean(),
            weakest=truth[d - 1] / noise_level(P, q, N),
        )
    return figures


def _pool(pooled: ExactMoments, exact: ExactMoments) -> None:
    for total, part in zip(vars(pooled).values(), vars(exact).values(), strict=True):
        if isinstance(total, np.ndarray):
            total += part


def _true_singular_values(pooled: ExactMoments, grid: float, N: int, levels: Levels) -> np.ndarray:
    """All federations pooled are as good as the truth.

    `N` and `levels` say in what noise one of them sees it.
    """
    sums = pooled.sums * grid / pooled.n
    second = pooled.second * grid**2 / pooled.n
    silent = centred(sums, pooled.counts / pooled.n, second, N, SILENT)
    return whitened(replace(silent, levels=levels), covariance(silent)).singular_values


def check(model: str, n: int, K: int, by_epsilon: dict[float, Figures]) -> None:
    for epsilon, figures in by_epsilon.items():
        print(f"model {model:3s} n {n} K {K} epsilon {epsilon:g}  {figures}")
        assert figures.expected == pytest.approx(figures.loss, rel=0.25)
        assert figures.invented <= 0.05
        assert figures.found >= 0.95 or figures.weakest <= 2.0


@pytest.mark.parametrize("model", ["I", "III", "V"])
def test_expected_error_is_honest_and_the_dimension_is_found(model):
    check(model, 1000, 10, run(model, 1000, 10, 40, (2.0,)))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "K"), [(1000, 10), (1000, 50), (5000, 10), (5000, 50)])
@pytest.mark.parametrize("model", ["I", "II", "III", "V"])
def test_expected_error_and_dimension_over_200_federations(model, n, K):
    check(model, n, K, run(model, n, K, 200, (1.0, 2.0)))


def test_more_devices_make_the_expected_error_smaller():
    few, more, many = (run("V", 500, K, 3, (1.0,))[1.0].expected for K in (5, 20, 80))
    assert few > 1.5 * more > 2.0 * many


def test_where_there_is_little_information_the_estimate_says_so():
    task = model_task("III", 100, 0.1, d=2)
    subspaces = [estimate(task, totals) for _, [totals] in federations([task], "III", 100, 2, 20)]
    assert np.mean([subspace.expected_error for subspace in subspaces]) > 0.6 * np.sqrt(2 * 2)
    assert sum(bool(subspace.notes) for subspace in subspaces) >= 19
