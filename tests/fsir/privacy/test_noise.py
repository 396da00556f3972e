"""The sampler is as close to the rounded Gaussian as lemma 3 says."""

from __future__ import annotations

import math
import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fsir.privacy.noise import (
    FAR_MASS,
    FAR_SIGMAS,
    RELATIVE_ERROR,
    RESOLUTION,
    SeededNoise,
    SystemNoise,
    sampling_error,
)
from fsir.privacy.normal import SIGNIFICANT_BITS
from fsir.privacy.normal.inverse import inverse_normal
from tests.fsir.privacy.words import normal_of

OCTAVES = 64  # tail probabilities below 2^-64 are too rare to matter at the resolutions tested here


@cache
def coarse_sampler(bits):
    """Every tail probability in (2^-64, 1/2] with `bits` significant bits.

    Their exact weights, and the z that they stand for.
    """
    tails = []
    weights = []
    for octave in range(1, OCTAVES):
        # The octave [2^-(octave+1), 2^-octave], upper end included.
        mantissas = np.arange(2 ** (bits - 1), 2**bits) + 1
        width = 2.0 ** -(octave + bits)
        tails.append(mantissas * width)
        cell = np.full(len(mantissas), 2.0 * width)  # uniform on (0, 1/2): density 2
        # Half a cell below, and half a wider one above.
        cell[-1] = width * (1.0 if octave == 1 else 3.0)
        weights.append(cell)
    tail = np.concatenate(tails)
    z = np.array([abs(normal_of(int(t * 2.0**129) | 1, bits)) for t in tail])
    return np.concatenate(weights), z


def exact_rounded_gaussian(outcomes, fraction, ratio):
    """P(floor(fraction + ratio z + 1/2) = k) of a real normal, by the smaller tail."""
    low = (outcomes - 0.5 - fraction) / ratio
    high = (outcomes + 0.5 - fraction) / ratio
    return np.where(
        low > 0,
        stats.norm.sf(low) - stats.norm.sf(high),
        stats.norm.cdf(high) - stats.norm.cdf(low),
    )


def compared(bits, ratio, fraction):
    """Outcomes, their exact probability, and that from a sampler of `bits` significant bits."""
    weight, z = coarse_sampler(bits)
    assert weight.sum() == pytest.approx(1.0, abs=2.0 ** -(OCTAVES - 2))
    values = np.floor(fraction + ratio * np.concatenate([z, -z]) + 0.5)
    outcomes = np.arange(values.min(), values.max() + 1)
    sampled = np.bincount((values - values.min()).astype(int), np.concatenate([weight, weight]) / 2)
    return outcomes, exact_rounded_gaussian(outcomes, fraction, ratio), sampled


@pytest.mark.parametrize("bits", [6, 8, 10, 12])
@pytest.mark.parametrize(
    ("ratio", "fraction"), [(1.0, 0.0), (8.0, 0.25), (15.9, 0.6875), (40.0, 0.5)]
)
def test_total_variation_stays_within_the_bound_and_not_far_below(bits, ratio, fraction):
    _, exact, sampled = compared(bits, ratio, fraction)
    distance = 0.5 * np.abs(exact - sampled).sum()
    assert distance <= sampling_error(ratio, bits)
    assert sampling_error(ratio, bits) < 60 * distance  # the form is right, not only large enough


def test_the_bound_is_linear_in_the_ratio_and_halves_with_every_bit():
    distances = {
        (bits, ratio): 0.5 * np.abs(np.subtract(*compared(bits, ratio, 0.3)[1:])).sum()
        for bits in (7, 9, 11)
        for ratio in (8.0, 32.0)
    }
    for ratio in (8.0, 32.0):
        assert distances[7, ratio] / distances[11, ratio] == pytest.approx(16.0, rel=0.5)
    for bits in (9, 11):
        assert distances[bits, 32.0] / distances[bits, 8.0] == pytest.approx(4.0, rel=0.5)


@pytest.mark.parametrize(
    ("ratio", "fraction"),
    [(0.15, 0.0), (0.35, 0.0), (1.0, 0.25), (8.0, 0.25), (15.9, 0.6875)],
)
def test_every_outcome_has_nearly_its_exact_probability(ratio, fraction):
    bits = 12
    outcomes, exact, sampled = compared(bits, ratio, fraction)
    # Where the enumeration has all octaves and scipy all digits.
    near = np.abs(outcomes - fraction) / ratio < 7.0
    off = np.abs(np.log(sampled[near] / exact[near])).max()
    # The tail probability alone; the arithmetic after it adds the rest of the constant of lemma 3.
    assert off <= 8.0 * (ratio + 1.0) * 2.0**-bits
    assert 8.0 * 17.0 * 2.0**-SIGNIFICANT_BITS < RELATIVE_ERROR


def test_the_constant_of_a_single_outcome_holds_for_all_ratios_of_the_lemma():
    """The loss at both ends of a cell, as part (b) of lemma 3 adds it up, in units of 2^-53."""
    ratio = np.geomspace(1 / 13, 2.0 * RESOLUTION, 1000)[:, None]
    end = np.linspace(0.0, FAR_SIGMAS, 1001)
    s = (end + 0.5 / ratio) / ratio
    loss = 2.0 * (1.0 + s) * (11.0 * ratio * end + 3.5 * ratio + 8.0)
    assert -math.log1p(-loss.max() * 2.0**-53) < 0.9 * RELATIVE_ERROR


def test_far_outcomes_are_as_rare_as_charged():
    assert 2.0 * stats.norm.sf(FAR_SIGMAS) < FAR_MASS


@pytest.mark.parametrize("low", [2.0**-129, 2.0**-76, 1e-12, 1e-4, 0.02, 0.4])
def test_the_inverse_normal_is_as_accurate_as_the_bound_assumes(low):
    mp = pytest.importorskip("mpmath")
    rng = random.Random(1)
    high = min({0.02: 0.4}.get(low, 1e4 * low), 0.5)
    worst = 0.0
    with mp.workdps(50):
        for _ in range(60):
            tail = math.exp(rng.uniform(math.log(low), math.log(high)))
            computed = mp.mpf(-inverse_normal(np.array([tail]))[0])
            exact = computed
            for _ in range(3):  # Newton
                density = mp.exp(-exact * exact / 2) / mp.sqrt(2 * mp.pi)
                exact += (mp.erfc(exact / mp.sqrt(2)) / 2 - mp.mpf(tail)) / density
            worst = max(worst, float(abs(computed - exact) / abs(exact)))
    assert worst <= 8.0 * 2.0**-53


def test_words_cover_both_signs_and_the_whole_range():
    assert normal_of(0) == -normal_of(1) < -13.0
    assert normal_of(2**128 - 1) == normal_of(2**128 - 2) == 0.0
    assert normal_of(2**127) == -normal_of(2**127 + 1) == pytest.approx(-stats.norm.isf(0.25))


@given(st.integers(0, 2**128 - 2))
def test_normals_fall_as_the_word_grows(word):
    step = 2 << max(0, word.bit_length() - 50)
    other = min(word + step, 2**128 - 2 + (word & 1))
    # Each inverse may be off by what the bound assumes: close words may change places by that much.
    assert abs(normal_of(other)) <= abs(normal_of(word)) * (1.0 + 2 * 8.0 * 2.0**-53)


# --- the sampler as it is -------------------------------------------------------------------------

DRAWS = 60_000


@pytest.mark.parametrize(("sd", "step", "value"), [(10.0, 1, 5.0), (5000.0, 512, 1000.0)])
def test_perturbed_values_follow_the_rounded_gaussian(sd, step, value):
    ratio = sd / step
    fraction = value / step % 1
    source = SeededNoise(7, "chi-square", str(step))
    noise = source.perturb(np.full(DRAWS, value), sd, step) - value // step
    spread = math.sqrt(ratio**2 + 1 / 12)
    assert abs(noise.mean() - fraction) < 4.0 * spread / math.sqrt(DRAWS)
    assert noise.var() == pytest.approx(spread**2, rel=4.0 * math.sqrt(2.0 / DRAWS))
    for sigmas in (2.0, 3.0, 4.0):
        expected = 2.0 * stats.norm.sf(sigmas)
        beyond = np.mean(np.abs(noise - fraction) > sigmas * spread)
        assert abs(beyond - expected) < 5.0 * math.sqrt(expected / DRAWS) + 0.05 * expected
    outcomes = np.arange(math.floor(-3.5 * ratio), math.ceil(3.5 * ratio) + 1.0)
    expected = DRAWS * exact_rounded_gaussian(outcomes, fraction, ratio)
    observed = np.array([(noise == k).sum() for k in outcomes], float)
    expected, observed = (
        np.append(values, DRAWS - values.sum()) for values in (expected, observed)
    )
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-4


def test_neighbouring_draws_are_independent():
    z = SeededNoise(1).normals(DRAWS)
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 4.0 / math.sqrt(DRAWS)
    assert abs(np.corrcoef(np.abs(z[:-1]), np.abs(z[1:]))[0, 1]) < 4.0 / math.sqrt(DRAWS)
    assert abs(np.corrcoef(np.abs(z), z > 0)[0, 1]) < 4.0 / math.sqrt(DRAWS)


@given(
    st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, max_size=20),
    st.integers(0, 40).map(lambda exponent: 2**exponent),
)
def test_without_noise_values_are_rounded_exactly(values, step):
    rounded = SeededNoise(0).perturb(np.array(values, float), 0.0, step)
    assert rounded.tolist() == [(2 * value + step) // (2 * step) for value in values]


def test_large_sums_do_not_disturb_the_noise():
    draws = [
        SeededNoise(3).perturb(np.full(100, value), 300.0, 32) - value // 32
        for value in (0.0, 2.0**52)
    ]
    assert np.array_equal(*draws)


def test_the_system_source_is_different_every_time():
    zeros = np.zeros(50)
    drawn = {tuple(SystemNoise().perturb(zeros, 1e6, 1).tolist()) for _ in range(20)}
    assert len(drawn) == 20
    assert SystemNoise.cryptographic


def test_a_seeded_source_repeats_itself_and_says_that_it_protects_nobody():
    assert np.array_equal(SeededNoise(1, "a").normals(100), SeededNoise(1, "a").normals(100))
    source = SeededNoise(1, "a")
    sources = [
        source,
        source,
        SeededNoise(2, "a"),
        SeededNoise(1, "b"),
        SeededNoise(1),
        SeededNoise(1, "a", "b"),
    ]
    assert len({source.normals(4).tobytes() for source in sources}) == len(sources)
    assert not SeededNoise.cryptographic
