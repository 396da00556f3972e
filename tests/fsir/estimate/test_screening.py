"""Which features the second report is about: those that stand out of the merged noisy sums."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate import screening
from fsir.estimate.totals import Totals
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.task.task import Screening
from tests.fsir.learned import signal
from tests.fsir.tasks import screened, task


def test_the_majority_counts_multiplicities_over_devices_and_slices():
    assert screening.majority(np.array([0, 2, 3, 9]), 5) == (2, 3)
    assert screening.majority(np.array([2, 3]), 4) == (1,)  # more than half, not half
    assert screening.majority(np.array([0, 0]), 1) == ()


@pytest.mark.parametrize("code", ["slices", "simplex"])
@pytest.mark.parametrize("select", ["per_slice", "overall", "significant"])
def test_merged_noisy_sums_select_the_feature_that_matters(select, code):
    dense = screened(6, select=select, keep=1, code=code)
    totals = Totals(first_stage(dense))
    for seed in range(4):
        totals.add(release(signal(dense, 20_000, 0.8, seed), SeededNoise(seed)))
    chosen = screening.select(dense.screening, totals)
    assert 1 in chosen
    assert chosen == tuple(sorted(chosen))
    assert len(chosen) <= dense.screening.limit
    if select != "per_slice":
        assert chosen == (1,)


def test_nothing_is_significant_where_nothing_matters():
    dense = screened(6, select="significant")
    totals = Totals(first_stage(dense))
    for seed in range(4):
        totals.add(release(signal(dense, 5_000, 0.0, seed), SeededNoise(seed)))
    assert screening.select(dense.screening, totals) == ()


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
    totals.n = 100
    totals.devices = 1
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
