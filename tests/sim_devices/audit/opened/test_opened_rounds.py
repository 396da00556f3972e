"""Two rounds that two aggregators open: the promises hold exactly, and mistakes are found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fsir.privacy import accounting
from fsir.privacy.claims import total_cost
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.correlated import round_noise
from fsir.privacy.rounds.factorisation import correlated
from fsir.privacy.rounds.shared import rounds_error
from fsir.task.task import Estimate
from sim_devices.audit.opened import rounds
from sim_devices.audit.opened.integers import rounded

DELTA = 1e-6
FACTOR = np.array([[1.0, 0.0], [-0.5, 1.0]])


@pytest.mark.parametrize("cohort", [2, 5, 20])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_one_honest_aggregator_keeps_the_promise_over_rounds_and_wastes_little(epsilon, cohort):
    finding = rounds.asked("rounds-one-honest", epsilon, DELTA, cohort)
    assert finding.verdict == "consistent"
    mu = total_cost(rounds.task_of(epsilon, DELTA, cohort)) / math.sqrt(1 + 1 / cohort)
    most = accounting.epsilon_of(mu, DELTA)
    assert 0.97 * most < finding.bound.epsilon <= most * (1 + 1e-9)


@pytest.mark.parametrize("cohort", [2, 20])
def test_both_together_see_no_more_than_is_said(cohort):
    finding = rounds.asked("rounds-both-collude", 1.0, DELTA, cohort)
    assert finding.verdict == "consistent"
    assert finding.bound.epsilon > 0.97 * finding.epsilon


@pytest.mark.parametrize("name", rounds.MUST_FAIL)
def test_every_known_mistake_is_found(name):
    finding = rounds.asked(name, 1.0, DELTA)
    assert finding.verdict == "violated"
    assert finding.bound.epsilon > 1.05


def test_the_law_of_a_pair_has_the_law_of_each_round_at_its_edges():
    law = rounds.rounded_pair((0.3, -0.2), 2.5, FACTOR)
    for axis, (centre, sd) in enumerate(((0.3, 2.5), (-0.2, 2.5 * math.hypot(0.5, 1.0)))):
        edge = law.probabilities.sum(axis=1 - axis)
        expected = rounded(centre, sd)
        assert law.first[axis] == expected.first
        assert np.allclose(edge, expected.probabilities, rtol=0, atol=1e-15)


def test_the_law_of_a_pair_is_that_of_the_shipped_noise():
    """The share of pairs whose second number is above the centre, where the first is far below."""
    stage = first_stage(rounds.task_of(1.0, DELTA))
    drawn = [
        round_noise(SeededNoise(3), stage, t).perturb(np.zeros(200_000), 3.0, 1) for t in (1, 2)
    ]
    low = drawn[0] <= -3
    law = rounds.rounded_pair((0.0, 0.0), 3.0, rounds.factor_of(stage, 2))
    mass = law.probabilities[: -3 - law.first[0] + 1]
    expected = mass[:, 1 - law.first[1] :].sum() / mass.sum()
    found = float((drawn[1][low] > 0).mean())
    assert abs(found - expected) < 5 * math.sqrt(expected * (1 - expected) / low.sum())
    assert expected > 0.6  # noise is taken back, and independent rounds would show half


def test_rounding_twice_is_one_gaussian_within_the_bound_of_the_lemma():
    """Where steps are so coarse that the difference shows: every outcome that matters."""
    found = correlated(Estimate(), 2)
    device, cohort = 1.0, 2
    twice = rounds.rounded_pair((0.3, 0.4), device, FACTOR).plus(
        rounds.rounded_pair((0.0, 0.0), device * math.sqrt(cohort), FACTOR)
    )
    nodes, weights = np.polynomial.legendre.leggauss(12)
    once = np.zeros((9, 9))
    for x, w in zip(nodes, weights, strict=True):
        for y, v in zip(nodes, weights, strict=True):
            centre = (0.3 + 0.5 * x, 0.4 + 0.5 * y)
            law = rounds.rounded_pair(centre, device * math.sqrt(1 + cohort), FACTOR)
            once += 0.25 * w * v * _square(law)
    away = np.abs(np.log(_square(twice) / once)).max()
    assert 1e-9 < away <= 2 * rounds_error(found, device, cohort)


def _square(law):
    """Outcomes from -4 to 4 in both rounds."""
    row, column = (-4 - start for start in law.first)
    return law.probabilities[row : row + 9, column : column + 9]
