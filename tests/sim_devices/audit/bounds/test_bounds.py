"""The bounds themselves: right where the truth is known, and never above it."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from fsir.privacy import accounting
from sim_devices.audit.bounds import exact, montecarlo
from sim_devices.audit.bounds.laws import Certain, Gaussian, same_noise
from sim_devices.audit.finding import Bound, Finding, at_least, at_most, best

DELTA = 1000**-1.1


def shifted(mu, dimensions=5):
    first = Gaussian(np.zeros((dimensions, 1)), np.full(dimensions, 4.0))
    away = np.zeros((dimensions, 1))
    away[1] = 2.0 * mu
    return first, Gaussian(away, first.variances)


def turned(law, seed=3):
    """The same kind of law with axes that are not the coordinate axes."""
    k = len(law.variances)
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))[0]
    return Gaussian(basis @ law.mean, law.variances, basis)


@pytest.mark.parametrize("degrees", [1, 2, 3, 8, 11])
@pytest.mark.parametrize("x", [1e-3, 1.0, 30.0, 700.0, 50_000.0])
def test_the_chi_square_tail_agrees_with_high_precision_and_never_underflows(degrees, x):
    with mpmath.workdps(50):
        truth = mpmath.log(
            mpmath.gammainc(mpmath.mpf(degrees) / 2, mpmath.mpf(x) / 2, regularized=True)
        )
    assert exact.log_chi_square_tail(degrees, np.array([x]))[0] == pytest.approx(
        float(truth), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("trials", [50, 400])
@pytest.mark.parametrize("chance", [0.003, 0.1, 0.5, 0.97])
def test_binomial_bounds_cover_as_often_as_they_say(trials, chance):
    hits = np.arange(trials + 1)
    weight = binom.pmf(hits, trials, chance)
    below = sum(
        w for k, w in zip(hits, weight, strict=True) if at_least(int(k), trials, 0.99) > chance
    )
    above = sum(
        w for k, w in zip(hits, weight, strict=True) if at_most(int(k), trials, 0.99) < chance
    )
    assert below <= 0.01 + 1e-12
    assert above <= 0.01 + 1e-12


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
def test_a_shifted_gaussian_gives_its_exact_curve(epsilon):
    mu = accounting.mu_of(epsilon, DELTA)
    bound = exact.bound(*shifted(mu), epsilon, DELTA)
    assert bound.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert bound.delta == pytest.approx(DELTA, rel=1e-6)
    assert bound.confidence == 1.0


@pytest.mark.parametrize("ratio", [1.5, 4.0])
def test_a_wider_noise_is_found_by_the_event_that_is_optimal_for_it(ratio):
    """Two columns of variance `ratio` against 1:
    tails x and x^ratio, and the best threshold follows by calculus."""
    wide = Gaussian(np.zeros((3, 2)), np.array([1.0, ratio, 1.0]))
    narrow = Gaussian(np.zeros((3, 2)), np.ones(3))
    x = np.geomspace(1.0001 * DELTA, 0.999, 200_000)
    truth = float(np.max(np.log(x - DELTA) - ratio * np.log(x)))
    for first, second in ((wide, narrow), (narrow, wide)):
        assert exact.bound(first, second, 1.0, DELTA).epsilon == pytest.approx(truth, rel=1e-4)


def test_certain_values_that_differ_are_an_infinite_epsilon():
    assert exact.bound(Certain(b"a"), Certain(b"a"), 1.0, DELTA).epsilon == 0.0
    bound = exact.bound(Certain(b"a"), Certain(b"b"), 1.0, DELTA)
    assert math.isinf(bound.epsilon)
    assert bound.delta == 1.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_monte_carlo_comes_close_to_the_truth_and_stays_below_it(epsilon, seed):
    first, second = shifted(accounting.mu_of(epsilon, DELTA))
    bound = montecarlo.bound(
        turned(first), turned(second), epsilon, DELTA, 60_000, np.random.default_rng(seed)
    )
    assert 0.85 * epsilon < bound.epsilon <= epsilon
    assert bound.delta <= DELTA


def test_densities_and_losses_do_not_depend_on_the_axes_chosen():
    rng = np.random.default_rng(1)
    plain = [Gaussian(rng.standard_normal((4, 3)), rng.uniform(0.5, 2.0, 4)) for _ in range(2)]
    moved = [turned(law) for law in plain]
    assert plain[0].loss(plain[1]) == pytest.approx(moved[0].loss(moved[1]))
    Y = plain[0].sample(50, rng)
    ratio = plain[0].log_density(Y) - plain[1].log_density(Y)
    there = Y @ moved[0].basis.T
    assert np.allclose(ratio, moved[0].log_density(there) - moved[1].log_density(there))
    Y = plain[0].sample(200_000, rng)
    ratio = plain[0].log_density(Y) - plain[1].log_density(Y)
    assert (ratio.mean(), ratio.std()) == pytest.approx(plain[0].loss(plain[1]), rel=0.02)


def test_samples_have_the_stated_mean_and_covariance():
    rng = np.random.default_rng(2)
    law = turned(Gaussian(rng.standard_normal((3, 2)), np.array([0.5, 1.0, 4.0])))
    Y = law.sample(100_000, rng)
    assert np.allclose(Y.mean(axis=0), law.mean.T, atol=0.03)
    assert np.allclose(
        np.cov(Y[:, 0].T), law.basis @ np.diag(law.variances) @ law.basis.T, atol=0.06
    )
    assert law.variance_along(law.basis[:, 2]) == pytest.approx(4.0)
    assert not same_noise(law, law)  # with axes of its own, nobody has compared them


def test_a_finding_refutes_only_what_is_claimed():
    bound = Bound(1.0, 0.001, 0.999, "test")
    assert best(bound, Bound(0.5, 0.9, 1.0, "other")) == bound
    claimed = Finding(mechanism="m", pair="p", epsilon=1.0, delta=DELTA, bound=bound)
    assert claimed.verdict == "consistent"
    refuted = replace(claimed, epsilon=0.99)
    assert refuted.verdict == "violated"
    assert refuted.table()["epsilon_lower_bound"] == 1.0
    assert "VIOLATED" in refuted.line()
