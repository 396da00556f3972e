"""How the noise of rounds hangs together: what it costs, and what is left of it in totals."""

import math

import numpy as np
import pytest

from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.factorisation import INDEPENDENT, Factorisation, factorisation_of, workload
from fsir.task.task import Estimate
from tests.fsir.privacy.rounds.tasks import small_task

# Rounds, and the noise of the total after all of them and of the first one, over that of a report.
KNOWN = [(4, 1.49, 1.22), (10, 1.79, 1.34), (24, 2.07, 1.44), (52, 2.32, 1.52), (365, 2.94, 1.72)]


def factorisation(rounds, memory="all", span=None):
    estimate = {"memory": memory} | ({"span": span} if span else {})
    return factorisation_of(small_task(rounds=rounds, estimate=estimate))


def matrix(coefficients, rounds):
    rows = np.subtract.outer(np.arange(rounds), np.arange(rounds))
    padded = np.append(coefficients, np.zeros(rounds))
    return np.where(rows >= 0, padded[np.maximum(rows, 0)], 0.0)


@pytest.mark.parametrize(("rounds", "last", "first"), KNOWN)
def test_the_noise_of_a_total_is_that_of_little_more_than_one_report(rounds, last, first):
    found = factorisation(rounds)
    assert found.norm == pytest.approx(first, abs=0.005)
    total = found.norm * math.sqrt(found.variance([1.0] * rounds))
    assert total == pytest.approx(last, abs=0.005)
    assert INDEPENDENT.variance([1.0] * rounds) == rounds


def test_coefficients_are_those_of_the_square_root():
    found = factorisation(6)
    r = [math.comb(2 * k, k) / 4**k for k in range(6)]
    assert found.inverse == pytest.approx(r, rel=1e-14)
    expected = [1.0] + [-r[k] / (2 * k - 1) for k in range(1, 6)]
    assert found.coefficients == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("memory", "span"), [("all", None), ("window", 3), ("decay", 4)])
def test_two_factors_make_the_workload(memory, span):
    T = 12
    found = factorisation(T, memory, span)
    C = matrix(found.inverse, T)
    A = matrix(workload(Estimate(memory=memory, span=span), T), T)
    assert pytest.approx(A, abs=1e-12) == C @ C
    assert pytest.approx(np.eye(T), abs=1e-12) == C @ matrix(found.coefficients, T)


@pytest.mark.parametrize(("memory", "span"), [("all", None), ("window", 3), ("decay", 4)])
def test_no_column_is_longer_than_the_norm(memory, span):
    T = 20
    found = factorisation(T, memory, span)
    columns = np.linalg.norm(np.linalg.inv(matrix(found.coefficients, T)), axis=0)
    assert columns.max() <= found.norm
    assert columns.max() == pytest.approx(found.norm, rel=1e-8)


def test_every_block_of_a_round_has_the_norm_times_the_noise_of_a_single_report():
    stage = first_stage(small_task(rounds=10))
    single = first_stage(small_task(rounds=1))
    assert stage.mu == pytest.approx(single.mu, rel=1e-6)
    for block, alone in zip(stage.blocks, single.blocks, strict=True):
        assert block.sd == pytest.approx(stage.factorisation.norm * alone.sd, rel=1e-6)


def test_variance_is_that_of_the_weighted_sum_of_rounds():
    found = factorisation(8)
    weights = np.array([1.0, 0.0, 0.5, 0.25, 0.0, 1.0, 1.0, 2.0])
    B = matrix(found.coefficients, 8)
    assert found.variance(weights) == pytest.approx(float(weights @ B @ B.T @ weights), rel=1e-12)
    assert found.variance(weights[:3]) == pytest.approx(
        float(weights[:3] @ (B @ B.T)[:3, :3] @ weights[:3]), rel=1e-12
    )


def test_the_memory_that_forgets_has_less_noise_than_independent_rounds():
    gains = {"window": (1.832, 2.828), "decay": (1.504, 2.507)}
    for memory, (correlated, independent) in gains.items():
        found = factorisation(365, memory, 8)
        weights = workload(Estimate(memory=memory, span=8), 365)[::-1]
        left = found.norm * math.sqrt(found.variance(weights))
        assert left == pytest.approx(correlated, abs=0.001)
        assert math.sqrt(INDEPENDENT.variance(weights)) == pytest.approx(independent, abs=0.001)


@pytest.mark.parametrize("rounds", [2, 10, 52, 365])
@pytest.mark.parametrize(("memory", "span"), [("all", None), ("window", 8), ("decay", 8)])
def test_rounding_is_little_beside_the_noise_of_a_total(rounds, memory, span):
    estimate = {"memory": memory} | ({"span": span} if span else {})
    stage = first_stage(small_task(rounds=rounds, estimate=estimate))
    weights = workload(Estimate(memory=memory, span=span), rounds)[::-1]
    for block in stage.blocks:
        if block.step > 1:
            rounding = sum(w * w for w in weights) * block.worth**2 / 12
            assert rounding <= 0.0125 * block.sd**2 * stage.factorisation.variance(weights)


def test_a_value_of_a_round_counts_at_least_like_one_of_a_report():
    assert INDEPENDENT.weight == 1
    assert Factorisation((1.0, -0.5)).weight >= 1
    weights = [factorisation(T).weight for T in (2, 10, 52, 365)]
    assert weights == sorted(weights)
    assert weights[-1] < 20
