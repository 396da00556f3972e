"""The noise of rounds as it is drawn."""

from fractions import Fraction

import numpy as np
import pytest

from fsir.privacy.noise import SeededNoise, SystemNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.correlated import KEY_BYTES, KeyedNoise, RoundNoise, key_for, round_noise
from tests.fsir.privacy.rounds.tasks import small_task

KEY = bytes(range(256)) * 2  # for 16 rounds
COUNT = 20_000


def drawn(stage, rounds, noise=None, key=KEY):
    """The normals of these rounds, rounds x count."""
    source = noise or SystemNoise()
    return np.array(
        [round_noise(source, stage, t, key).normals(COUNT) for t in range(1, rounds + 1)]
    )


@pytest.mark.parametrize("noise", [SystemNoise(), SeededNoise(1, "device")])
def test_running_totals_have_the_noise_that_is_promised(noise):
    T = 10
    stage = first_stage(small_task(rounds=T))
    running = drawn(stage, T, noise).cumsum(axis=0)
    expected = [stage.factorisation.variance([1.0] * t) for t in range(1, T + 1)]
    # The variance of COUNT normals has a relative standard deviation of sqrt(2/COUNT) = 1%.
    assert running.var(axis=1) == pytest.approx(expected, rel=0.05)


def test_a_key_gives_the_same_round_again_and_another_key_does_not():
    stage = first_stage(small_task(rounds=5))
    again = [round_noise(SystemNoise(), stage, 3, KEY).normals(50) for _ in range(2)]
    assert np.array_equal(*again)
    other = round_noise(SystemNoise(), stage, 3, KEY[::-1]).normals(50)
    assert not np.isclose(again[0], other).any()


def test_rounds_and_blocks_of_one_key_have_normals_of_their_own():
    rounds = [KeyedNoise(KEY[:KEY_BYTES], label) for label in ("final", "final 2")]
    blocks = [noise.normals(COUNT) for noise in rounds for _ in range(2)]
    correlations = np.corrcoef(blocks) - np.eye(4)
    assert np.abs(correlations).max() < 6 / COUNT**0.5


def test_independent_rounds_need_no_key():
    stage = first_stage(small_task(rounds=5, privacy={"epsilon": 1, "noise": "independent"}))
    first, second = drawn(stage, 2, key=b"")
    assert abs(np.corrcoef(first, second)[0, 1]) < 6 / COUNT**0.5


def test_a_correlated_round_without_a_key_is_not_made():
    stage = first_stage(small_task(rounds=5))
    with pytest.raises(ValueError, match="a key of 0 bytes"):
        round_noise(SystemNoise(), stage, 1)


def test_a_key_grows_with_the_rounds_and_stays_what_it_was():
    first = key_for(1)
    third = key_for(3, first)
    assert len(first) == KEY_BYTES
    assert len(third) == 3 * KEY_BYTES
    assert third.startswith(first)
    assert key_for(2, third) == third
    assert key_for(3, first) != third  # whoever goes on from a copy has noise of its own


@pytest.mark.parametrize("round", [0, 6])
def test_there_is_no_round_beyond_the_last(round):
    stage = first_stage(small_task(rounds=5))
    with pytest.raises(ValueError, match=f"round {round}: the noise is that of rounds 1 to 5"):
        round_noise(SystemNoise(), stage, round, KEY)


def test_each_round_has_the_coefficients_of_its_row():
    """The noise of round t, of the normals of round s: `b_(t-s)`, and no other round's."""
    stage = first_stage(small_task(rounds=5))
    b = stage.factorisation.coefficients
    normals = [round_noise(SeededNoise(1, "device"), stage, t).normals(9) for t in range(1, 6)]
    labels = ["final", "final 2", "final 3", "final 4", "final 5"]
    z = [SeededNoise(1, "device").for_stage(label).normals(9) for label in labels]
    for t, found in enumerate(normals):
        expected = sum(b[t - s] * z[s] for s in range(t + 1))
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_the_sum_of_many_parts_is_rounded_like_one():
    sources = [SeededNoise(k) for k in range(300)]
    coefficients = [1.0, *(-0.5 / (k + 1) for k in range(299))]
    count = 100
    found = RoundNoise(sources, coefficients).normals(count)
    exact = np.zeros(count, dtype=object)
    for k, coefficient in enumerate(reversed(coefficients)):
        normals = SeededNoise(k).normals(count)
        exact = exact + np.array([Fraction(coefficient * z) for z in normals], dtype=object)
    errors = [
        abs(float(Fraction(a) - b)) / abs(float(b)) for a, b in zip(found, exact, strict=True)
    ]
    assert max(errors) < (1 + 1e-9) * 2.0**-53
