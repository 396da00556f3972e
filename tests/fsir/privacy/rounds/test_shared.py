"""Sums of rounded Gaussians that are correlated over rounds: the bound of lemma 17."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from fsir.privacy.noise import RELATIVE_ERROR
from fsir.privacy.rounds.factorisation import correlated
from fsir.privacy.rounds.shared import precision, rounds_error, weight_of
from fsir.task.task import Estimate

MEMORIES = [Estimate(), Estimate(memory="decay", span=2), Estimate(memory="window", span=2)]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def matrices(found, T):
    rows, columns = np.indices((T, T))
    lag = rows - columns
    B = np.where(lag >= 0, np.array(found.coefficients)[np.maximum(lag, 0)], 0.0)
    return B, np.linalg.inv(B)


def opened_precision(C, series, cohort):
    """Of a device's values in all rounds, each opened in the series of its round."""
    own = C.T @ C
    opened = np.zeros_like(own)
    for name in set(series):
        D = np.diag([float(other == name) for other in series])
        opened += D @ own @ D
    return own + opened / cohort


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("cohort", [2, 20])
def test_whatever_series_a_value_is_opened_in_it_is_known_no_better(memory, cohort):
    T = 5
    found = correlated(memory, T)
    _, C = matrices(found, T)
    bound = precision(found, cohort)
    worst = 0.0
    for series in itertools.product(range(3), repeat=T):
        P = opened_precision(C, series, cohort)
        # Of value t given those before it: the pivots of the elimination from the last one on.
        pivots = np.diagonal(np.linalg.cholesky(P[::-1, ::-1])) ** 2
        worst = max(worst, float(pivots.max()))
    assert 0.4 * bound < worst <= bound * (1 + 1e-9)


@pytest.mark.parametrize("series", [(0, 0, 0), (0, 1, 0), (0, 1, 2)])
def test_all_frequencies_together_are_within_the_bound(series):
    found = correlated(Estimate(), 3)
    _, C = matrices(found, 3)
    Q = np.linalg.inv(opened_precision(C, series, 2))
    steps = 0.8
    k = np.array([k for k in itertools.product(range(-4, 5), repeat=3) if any(k)])
    size = np.exp(-2.0 * np.pi**2 * steps**2 * ((k @ Q) * k).sum(1)).sum()
    assert size <= math.expm1(3 * rounds_error(found, steps, 2) / 2.0)


def rounded(centre, sd, b, j):
    """The probability that two rounds of rounded noise, correlated by b, are j."""
    low, high = (j[0] - 0.5 - centre[0]) / sd, (j[0] + 0.5 - centre[0]) / sd
    z = 0.5 * (high - low) * NODES + 0.5 * (high + low)
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    second = centre[1] + sd * b * z
    inside = ndtr((j[1] + 0.5 - second) / sd) - ndtr((j[1] - 0.5 - second) / sd)
    return 0.5 * (high - low) * float(WEIGHTS @ (density * inside))


def dithered(centre, sd, b, j):
    """The same with uniform numbers of one step added before rounding."""
    shifted = [
        w * v * rounded((centre[0] + 0.5 * x, centre[1] + 0.5 * y), sd, b, j)
        for x, w in zip(NODES, WEIGHTS, strict=True)
        for y, v in zip(NODES, WEIGHTS, strict=True)
    ]
    return 0.25 * math.fsum(shifted)


@pytest.mark.parametrize("centre", [(0.0, 0.0), (0.3, 0.5)])
@pytest.mark.parametrize("j", [(0, 0), (1, -1), (3, 2)])
def test_two_rounds_of_twice_rounded_noise_are_one_gaussian_within_the_bound(centre, j):
    found = correlated(Estimate(), 2)
    b = found.coefficients[1]
    device, cohort = 0.7, 2
    added = device * cohort**0.5
    terms = itertools.product(range(-9, 10), repeat=2)
    twice = math.fsum(
        rounded(centre, device, b, t) * rounded((0.0, 0.0), added, b, (j[0] - t[0], j[1] - t[1]))
        for t in terms
    )
    once = dithered(centre, device * (1 + cohort) ** 0.5, b, j)
    away = abs(math.log(twice / once))
    assert away <= 2 * rounds_error(found, device, cohort)
    assert away > 1e-9  # or the test would see nothing


def test_what_is_charged_pays_for_rounding_twice():
    for memory in MEMORIES:
        for T in (2, 10, 23, 52):
            found = correlated(memory, T)
            assert weight_of(found, None) == found.weight
            more = weight_of(found, 2) - found.weight
            error = rounds_error(found, 2.0 * found.resolution / 8.0, 2)
            assert 2.0 * error <= more * RELATIVE_ERROR
            assert more >= 1
    assert weight_of(correlated(Estimate(), 1), 2) == 1
