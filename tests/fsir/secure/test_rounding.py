"""The sum of two rounded Gaussians is a dithered, rounded Gaussian up to the bound of lemma 16."""

from __future__ import annotations

import math

import pytest

from fsir.privacy.noise import RELATIVE_ERROR
from fsir.secure.rounding import rounding_error

mp = pytest.importorskip("mpmath")


def rounded(centre, sd, j):
    """The probability that a rounded Gaussian is j."""
    return mp.ncdf((j + 0.5 - centre) / sd) - mp.ncdf((j - 0.5 - centre) / sd)


def dithered(centre, sd, j):
    """The same with a uniform number of one step added before it is rounded."""

    def ramp(x):  # the integral of the normal distribution function
        return x * mp.ncdf(x / sd) + sd * mp.npdf(x / sd)

    away = j - centre
    return ramp(away + 1) - 2 * ramp(away) + ramp(away - 1)


def log_ratios(device, added, centre, most):
    """Of the convolution to the one Gaussian, for outcomes far into the tails."""
    sd = mp.sqrt(device**2 + added**2)
    terms = range(-most, most + 1)
    for j in (0, 1, int(2 * sd), int(6 * sd)):
        two = mp.fsum(rounded(centre, device, i) * rounded(0, added, j - i) for i in terms)
        yield abs(mp.log(two / dithered(centre, sd, j)))


@pytest.mark.parametrize(
    ("device", "added"), [(0.5, 0.6), (0.7, 1.0), (1.0, 1.5), (1.2, 1.3), (2.0, 2.0 * 2**0.5)]
)
@pytest.mark.parametrize("centre", [0.0, 0.3, 0.5])
def test_every_outcome_is_within_the_bound_and_the_bound_is_sharp(device, added, centre):
    with mp.workdps(60):
        worst = max(log_ratios(mp.mpf(device), mp.mpf(added), mp.mpf(centre), 60))
        bound = rounding_error(device, added)
        assert worst <= bound
        if centre == 0.0:
            assert worst > bound / 100


def test_noise_of_two_steps_leaves_nothing_that_counts():
    # The least that a task can have: two steps, and a cohort of two.
    worst = rounding_error(2.0, 2.0 * math.sqrt(2.0))
    assert worst < 3e-23
    # Twice of it is paid by what lemma 3 leaves of its relative error: more than a tenth.
    assert 2.0 * worst < 1e-9 * RELATIVE_ERROR


def test_without_noise_there_is_no_bound():
    assert rounding_error(0.1, 0.1) == math.inf
