"""How many directions are counted, with and without any to count."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.covariance import covariance, merged
from fsir.estimate.directions import count_directions, noise_level, whitened
from fsir.estimate.subspace import estimate
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from sim_devices.paper.exact import ExactMoments
from sim_devices.paper.merged_release import merged_release
from tests.fsir.simulated import P, federations, model_task


@pytest.mark.parametrize(("rows", "columns"), [(10, 7), (8, 5), (9, 2), (10, 1), (50, 7), (1, 1)])
def test_noise_level_is_the_95_percent_quantile_of_white_noise(rows, columns):
    noise = np.random.default_rng(1).standard_normal((6000, rows, columns))
    largest = np.linalg.svd(noise, compute_uv=False)[:, 0]
    assert noise_level(rows, columns, 1) == pytest.approx(np.quantile(largest, 0.95), rel=0.05)
    assert noise_level(rows, columns, 400) == pytest.approx(noise_level(rows, columns, 1) / 20)


def test_directions_are_counted_until_the_first_that_noise_could_give():
    level = noise_level(10, 7, 1000)
    assert count_directions(level * np.array([5.0, 3.0, 0.5, 0.4]), 10, 7, 1000) == 2
    assert count_directions(level * np.array([0.9, 0.5]), 10, 7, 1000) == 0
    assert count_directions(level * np.array([5.0, 3.0]), 10, 2, 1000) == 2


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_a_response_that_has_nothing_to_do_with_the_features_gives_no_direction(epsilon, offset):
    """Also where features are far from their public centre.

    Then noise of the counts enters in one direction.
    """
    n = 200
    K = 3
    task = model_task("III", n, epsilon)
    stage = first_stage(task)
    rng = np.random.default_rng(3)
    ratios = []
    counted = 0
    for _ in range(100):
        moments = Moments(task, stage)
        rows = moments.quantiser.truncated(
            rng.standard_normal((n * K, P)) + offset * (np.arange(P) < 5)
        )
        moments.add_quantised(rows, rng.integers(0, stage.slices, n * K))
        exact = ExactMoments(n * K, moments.sums(), moments.counts(), moments.second())
        m = merged(merged_release(stage, exact, K, rng))
        values = whitened(m, covariance(m)).singular_values
        counted += count_directions(values, P, stage.slices - 1, n * K) > 0
        ratios.append(values[0] / noise_level(P, stage.slices - 1, n * K))
    assert counted <= 5
    # Of white noise the mean is 0.84 of the 95% quantile.
    assert np.mean(ratios) == pytest.approx(0.84, abs=0.03)


def test_auto_takes_what_stands_out_and_at_least_one():
    for epsilon, d in ((0.05, 1), (8.0, 2)):
        task = model_task("V", 500, epsilon)
        (_, [totals]) = next(federations([task], "V", 500, 20, 1))
        subspace = estimate(task, totals)
        seen = count_directions(subspace.singular_values, P, 7, totals.n)
        assert subspace.dimension == max(seen, 1) == d
        assert bool(subspace.notes) == (seen == 0)


def test_a_given_dimension_is_kept_and_doubts_are_noted():
    task = model_task("III", 200, 0.2, d=2)
    (_, [totals]) = next(federations([task], "III", 200, 2, 1))
    subspace = estimate(task, totals)
    assert subspace.dimension == 2
    assert len(subspace.notes) == 1
    assert "stand" in subspace.notes[0]
