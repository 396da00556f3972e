"""The noise of rounds is as close to the exact one as lemma 14 says."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from fsir.limits import MAX_ROUNDS
from fsir.privacy.budget import published_values
from fsir.privacy.noise import FAR_SIGMAS, RELATIVE_ERROR, RESOLUTION, NoiseOfBytes, sampling_error
from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.correlated import RoundNoise
from fsir.privacy.rounds.factorisation import Factorisation, factorisation_of
from tests.fsir.privacy.rounds.tasks import small_task
from tests.fsir.privacy.words import normal_of

U = 2.0**-53
MEMORIES = [("all", None), ("window", 1), ("window", 2), ("window", 8), ("decay", 1), ("decay", 30)]


def factorisation(rounds, memory="all", span=None):
    estimate = {"memory": memory} | ({"span": span} if span else {})
    return factorisation_of(small_task(rounds=rounds, estimate=estimate))


def sizes(found):
    return [math.fsum(map(abs, series)) for series in (found.coefficients, found.inverse)]


class Words(NoiseOfBytes):
    """Normals that given words stand for."""

    def __init__(self, words):
        self._words = words

    def _bytes(self, count):
        return b"".join(word.to_bytes(16, "little") for word in self._words)


def exact_normal(mp, word):
    """The normal in the middle of the cell that a word stands for."""
    tail = mp.mpf(word | 1) / mp.mpf(2) ** 129
    z = mp.mpf(abs(normal_of(word)))
    for _ in range(3):  # Newton
        density = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
        z += (mp.erfc(z / mp.sqrt(2)) / 2 - tail) / density
    return z if word & 1 else -z


@pytest.mark.parametrize(("memory", "span"), [("all", None), ("window", 2), ("decay", 8)])
def test_a_sum_of_normals_is_as_close_as_the_lemma_has_it(memory, span):
    mp = pytest.importorskip("mpmath")
    T = 20
    count = 8
    coefficients = factorisation(T, memory, span).coefficients
    rng = random.Random(T)
    # From the middle to tail probabilities of 2^-76, which is as far out as the lemma looks.
    words = [[rng.getrandbits(128) >> rng.randrange(76) for _ in range(count)] for _ in range(T)]
    found = RoundNoise([Words(row) for row in words], coefficients).normals(count)
    with mp.workdps(50):
        for k in range(count):
            normals = [exact_normal(mp, row[k]) for row in words]
            pairs = list(zip(reversed(coefficients), normals, strict=True))
            error = abs(mp.mpf(found[k]) - mp.fsum(b * z for b, z in pairs))
            assert error <= U * mp.fsum(abs(b) * (10.02 * abs(z) + 1.3) for b, z in pairs)


@pytest.mark.parametrize(("memory", "span"), MEMORIES)
@pytest.mark.parametrize("rounds", [2, 3, 10, 52, 365, MAX_ROUNDS])
def test_the_weight_covers_both_errors_of_a_value(memory, span, rounds):
    """Parts (a) and (b), in units of 2^-53, for all ratios of the lemma."""
    found = factorisation(rounds, memory, span)
    kappa, steepness = sizes(found)
    coarse = np.geomspace(1 / 13, 1.0, 200)  # only where values are whole
    fine = np.geomspace(1.0, 2.0 * found.resolution, 200)
    for r, added, doubled in ((coarse, 0.5, 0.4), (fine, 2.5, 2.0)):
        e = 131.5 * kappa + added / r
        relative = 1.001 * (2.0 * e * r + FAR_SIGMAS * steepness * e)
        assert relative.max() * U <= found.weight * RELATIVE_ERROR
        past = 13.02 * math.sqrt(2 / math.pi) + 1.3
        variation = 2.0 * past * (kappa - 1.0) * (r + 0.4) + 23.4 * r + 18.7 + doubled / r
        assert variation.max() * U <= found.weight * sampling_error(2.0 * RESOLUTION)


def test_kappa_is_small_for_every_window():
    kappas = [sizes(factorisation(MAX_ROUNDS, "window", W))[0] for W in (1, 2, 3, 30, 500)]
    assert max(kappas) < 36.0


def test_the_values_of_all_rounds_count_for_a_record():
    task = small_task(rounds=10)
    stage = first_stage(task)
    assert stage.numbers == published_values(task) == 10 * 9 * stage.factorisation.weight
    independent = small_task(rounds=10, privacy={"epsilon": 1, "noise": "independent"})
    assert first_stage(independent).numbers == published_values(independent) == 9


def coarse_normals(bits):
    """All normals of a sampler of `bits` significant bits, with their weights."""
    octaves = 40
    mantissas = np.arange(2 ** (bits - 1), 2**bits) + 1
    tails = np.concatenate([mantissas * 2.0 ** -(k + bits) for k in range(1, octaves)])
    cells = np.concatenate([np.full(len(mantissas), 2.0 ** -(k + bits)) for k in range(1, octaves)])
    top = len(mantissas) - 1
    cells[top] *= 0.5  # no cell above one half
    cells[top + len(mantissas) :: len(mantissas)] *= 1.5  # half of a wider one above
    z = np.array([abs(normal_of(int(t * 2.0**129) | 1, bits)) for t in tails])
    return np.concatenate([z, -z]), np.concatenate([cells, cells])


def exact_cells(edges, b):
    """P of both rounded values, by quadrature over the first normal within its cell."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    low, high = edges[:-1, None], edges[1:, None]
    z = (low + high) / 2 + (high - low) / 2 * nodes
    mass = stats.norm.pdf(z) * weights * (high - low) / 2
    ends = stats.norm.cdf(edges[None, None, :] - b * z[:, :, None])
    return (mass[:, :, None] * np.diff(ends, axis=2)).sum(axis=1)


@pytest.mark.parametrize("bits", [5, 6, 7])
@pytest.mark.parametrize("b", [-0.5, 0.5])
def test_two_rounds_of_a_coarse_sampler_stay_within_the_bound(bits, b):
    """Arithmetic with so few bits can be enumerated: each pair of normals, and where it falls."""
    ratio = 2.0
    reach = 16
    z, mass = coarse_normals(bits)
    assert mass.sum() == pytest.approx(1.0, abs=1e-9)
    first = np.floor(ratio * z + 0.5).astype(int) + reach
    sampled = np.zeros((2 * reach + 1, 2 * reach + 1))
    for earlier, weight, row in zip(z, mass, first, strict=True):
        second = np.floor(ratio * (z + b * earlier) + 0.5).astype(int) + reach
        kept = (second >= 0) & (second <= 2 * reach)
        if 0 <= row <= 2 * reach:
            sampled[row] += weight * np.bincount(second[kept], mass[kept], 2 * reach + 1)
    edges = (np.arange(-reach, reach + 2) - 0.5) / ratio
    exact = exact_cells(edges, b)
    distance = 0.5 * np.abs(exact - sampled).sum()
    weight = Factorisation((1.0, b)).weight
    assert distance <= 2 * weight * sampling_error(ratio, bits)
    assert 2 * weight * sampling_error(ratio, bits) < 200 * distance
