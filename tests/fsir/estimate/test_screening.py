from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.estimate import screening
from fsir.estimate.totals import Totals
from fsir.estimate.votes import (
    CCMD_AS_PUBLISHED_IS_PRIVATE,
    ccmd_votes,
    conditional_differences,
    private_votes,
)
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.task.task import Screening
from tests.fsir.tasks import screened, task


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
    assert not CCMD_AS_PUBLISHED_IS_PRIVATE


@given(st.integers(0, 10**6))
def test_ccmd_is_the_largest_distance_of_slice_means_from_the_overall_mean(seed):
    rng = np.random.default_rng(seed)
    x, slices = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    found = conditional_differences(*sums_of(x, slices, 5), 40)
    for h in range(5):
        expected = (
            np.abs(x[slices == h].mean(axis=0) - x.mean(axis=0))
            if (slices == h).any()
            else np.zeros(3)
        )
        assert found[:, h] == pytest.approx(expected, abs=1e-12)


def test_the_majority_counts_multiplicities_over_devices_and_slices():
    assert screening.majority(np.array([0, 2, 3, 9]), 5) == (2, 3)
    assert screening.majority(np.array([2, 3]), 4) == (1,)  # more than half, not half
    assert screening.majority(np.array([0, 0]), 1) == ()


def signal(found, n, shift, seed=0):
    """Moments of a device on which feature 1 tells the classes apart by `shift`."""
    stage = first_stage(found)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(found.response.classes), n)
    x = rng.normal(size=(n, found.p)) * 0.3
    x[:, 1] += shift * (labels - 1)
    moments = Moments(found, stage)
    moments.learn_many(x, np.array(found.response.classes)[labels])
    return moments


def test_private_votes_come_from_noisy_sums_and_still_find_a_strong_feature():
    found = screened(6, method="votes", threshold=0.5)
    moments = signal(found, 20_000, 1.0)
    votes = [
        private_votes(release(moments, SeededNoise(seed)), Totals(moments.stage), 0.5)
        for seed in range(5)
    ]
    assert all(vote.shape == (6, 3) for vote in votes)
    tally = sum(vote.sum(axis=1) for vote in votes)
    assert screening.majority(tally, 5) == (1,)


def test_private_votes_depend_on_the_noise_where_data_are_few():
    found = screened(6, method="votes", threshold=0.5)
    moments = signal(found, 60, 1.0)
    votes = {
        private_votes(release(moments, SeededNoise(seed)), Totals(moments.stage), 0.5).tobytes()
        for seed in range(20)
    }
    assert len(votes) > 5


def test_slices_that_are_lost_in_the_noise_cast_no_votes():
    found = screened(6, method="votes", threshold=0.1)
    empty = Moments(found, first_stage(found))
    empty.learn_many(np.zeros((5, 6)), ["a"] * 5)
    for seed in range(20):
        totals = Totals(empty.stage)
        votes = private_votes(release(empty, SeededNoise(seed)), totals, 0.1)
        assert not votes[:, totals.counts() <= 2.0 * empty.stage.counts.sd].any()


@pytest.mark.parametrize("code", ["slices", "simplex"])
@pytest.mark.parametrize("select", ["per_slice", "overall", "significant"])
def test_merged_noisy_sums_select_the_feature_that_matters(select, code):
    found = screened(6, select=select, keep=1, code=code)
    totals = Totals(first_stage(found))
    for seed in range(4):
        totals.add(release(signal(found, 20_000, 0.8, seed), SeededNoise(seed)))
    chosen = screening.select(found.screening, totals)
    assert 1 in chosen
    assert chosen == tuple(sorted(chosen))
    assert len(chosen) <= found.screening.limit
    if select != "per_slice":
        assert chosen == (1,)


def test_nothing_is_significant_where_nothing_matters():
    found = screened(6, select="significant")
    totals = Totals(first_stage(found))
    for seed in range(4):
        totals.add(release(signal(found, 5_000, 0.0, seed), SeededNoise(seed)))
    assert screening.select(found.screening, totals) == ()


def test_the_limit_keeps_the_strongest():
    bare = task(
        8, privacy={"mechanism": "none"}, screening={"final_norm": 1.0, "limit": 3, "keep": 8}
    )
    totals = Totals(first_stage(bare))
    moments = signal(bare, 2_000, 1.0)
    totals.add(release(moments, SeededNoise(0)))
    strength = np.linalg.norm(screening.slice_matrix(totals), axis=1)
    assert screening.select(bare.screening, totals) == tuple(
        sorted(np.argsort(-strength)[:3].tolist())
    )


def test_selection_per_slice_takes_the_best_of_each():
    bare = task(
        4, privacy={"mechanism": "none"}, screening={"final_norm": 1.0, "limit": 4, "keep": 1}
    )
    totals = Totals(first_stage(bare))
    totals.n, totals.devices = 100, 1
    M = np.array([[5.0, -5.0, 0.0], [0.0, 4.0, -4.0], [0.1, 0.1, -0.2], [0.0, 0.0, 0.0]])
    totals.blocks[0][:] = np.rint(M / totals.stage.grid).astype(int).reshape(-1)
    totals.blocks[1][:] = [34, 33, 33]
    assert screening.select(bare.screening, totals) == (0, 1)
    assert screening.select(Screening(select="overall", keep=3), totals) == (0, 1, 2)


def test_the_merged_matrix_is_centred_with_the_merged_counts():
    bare = task(3, privacy={"mechanism": "none"}, screening={"final_norm": 1.0})
    moments = signal(bare, 500, 1.0)
    totals = Totals(moments.stage)
    totals.add(release(moments, SeededNoise(0)))
    G = moments.sums() * moments.stage.grid / 500
    expected = G - np.outer(G.sum(axis=1), moments.counts() / 500)
    assert screening.slice_matrix(totals) == pytest.approx(expected)
    assert screening.slice_matrix(totals).sum(axis=1) == pytest.approx(np.zeros(3), abs=1e-12)
