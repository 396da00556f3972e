"""Votes: not private as published, and still of use when they come from noisy sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.estimate import screening
from fsir.estimate.totals import Totals
from fsir.estimate.votes import ccmd_votes, conditional_differences, private_votes
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from tests.fsir.learned import signal
from tests.fsir.tasks import screened


def sums_of(x, slices, H=2):
    one_hot = np.eye(H)[slices]
    return x.T @ one_hot, one_hot.sum(axis=0)


def test_e8_one_record_flips_the_published_vote_with_certainty():
    slices = np.repeat([0, 1], 5)
    x = np.zeros((10, 2))
    x[:, 0] = [1, 1, 1, 1, 0, -1, -1, -1, -1, 0]
    neighbour = x.copy()
    neighbour[4, 0] = 1.0
    uploads = []
    for data in (x, neighbour):
        votes = ccmd_votes(*sums_of(data, slices), 10, 0.85)
        uploads.append(sorted(np.nonzero(votes)[0].tolist()))
    assert uploads == [[], [0, 0]]


@given(st.integers(0, 10**6))
def test_ccmd_is_the_largest_distance_of_slice_means_from_the_overall_mean(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 3))
    slices = rng.integers(0, 4, 40)
    differences = conditional_differences(*sums_of(x, slices, 5), 40)
    for h in range(5):
        expected = np.zeros(3)
        if (slices == h).any():
            expected = np.abs(x[slices == h].mean(axis=0) - x.mean(axis=0))
        assert differences[:, h] == pytest.approx(expected, abs=1e-12)


def test_private_votes_come_from_noisy_sums_and_still_find_a_strong_feature():
    voted = screened(6, method="votes", threshold=0.5)
    moments = signal(voted, 20_000, 1.0)
    votes = [
        private_votes(release(moments, SeededNoise(seed)), Totals(moments.stage), 0.5)
        for seed in range(5)
    ]
    assert all(vote.shape == (6, 3) for vote in votes)
    tally = sum(vote.sum(axis=1) for vote in votes)
    assert screening.majority(tally, 5) == (1,)


def test_private_votes_depend_on_the_noise_where_data_are_few():
    voted = screened(6, method="votes", threshold=0.5)
    moments = signal(voted, 60, 1.0)
    votes = {
        private_votes(release(moments, SeededNoise(seed)), Totals(moments.stage), 0.5).tobytes()
        for seed in range(20)
    }
    assert len(votes) > 5


def test_slices_that_are_lost_in_the_noise_cast_no_votes():
    voted = screened(6, method="votes", threshold=0.1)
    empty = Moments(voted, first_stage(voted))
    empty.learn_many(np.zeros((5, 6)), ["a"] * 5)
    for seed in range(20):
        totals = Totals(empty.stage)
        votes = private_votes(release(empty, SeededNoise(seed)), totals, 0.1)
        assert not votes[:, totals.counts() <= 2.0 * empty.stage.counts.sd].any()
