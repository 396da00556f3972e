"""A release is the exact sums plus the noise of the plan, in the documented layout."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fsir.estimate.totals import Totals
from fsir.privacy.codes import CODE_UNIT
from fsir.privacy.noise import NoiseOfBytes, SeededNoise
from fsir.privacy.plan import final_stage, first_stage
from fsir.privacy.release import release
from tests.fsir.learned import filled
from tests.fsir.tasks import mapped, screened, task


class Still(NoiseOfBytes):
    """A source that only ever draws 0."""

    def _bytes(self, count):
        return b"\xff" * count


BARE = task(4, privacy={"mechanism": "none"})


def test_the_layout_is_the_documented_one():
    stage = first_stage(BARE)
    moments = filled(BARE, stage)
    sums, counts, diagonal, upper = release(moments, SeededNoise(0)).blocks
    assert sums.tolist() == [moments.sums()[j, h] for j in range(4) for h in range(3)]
    assert counts.tolist() == moments.counts().tolist()
    assert diagonal.tolist() == [moments.second()[j, j] for j in range(4)]
    assert upper.tolist() == [moments.second()[j, k] for j in range(4) for k in range(j + 1, 4)]


@pytest.mark.parametrize(
    ("made", "features"),
    [
        (task(4), (0, 1, 2, 3)),
        (screened(6), None),
        (screened(6), (0, 2, 5)),
        (screened(6, code="simplex"), None),
        (mapped(6, 3, privacy={"split": 1.0}), None),
    ],
    ids=["one stage", "screening", "final", "coded", "mapped"],
)
def test_published_values_scatter_around_the_exact_ones_as_the_plan_says(made, features):
    stage = first_stage(made) if features is None else final_stage(made, features)
    moments = filled(made, stage)
    exact = [block * 0.0 for block in Totals(stage).blocks]
    still = release(moments, Still())
    scores = [[] for _ in stage.blocks]
    for seed in range(300):
        drawn = release(moments, SeededNoise(seed)).blocks
        for score, values, block, middle in zip(
            scores, drawn, stage.blocks, still.blocks, strict=True
        ):
            score.append((values - middle) * block.worth)
    for score, block, zero in zip(scores, stage.blocks, exact, strict=True):
        deviations = np.array(score)
        assert deviations.shape[1:] == zero.shape
        if block.size:
            draws = deviations.size
            assert abs(deviations.mean()) < 5.0 * block.sd / math.sqrt(draws) + block.worth
            assert deviations.var() == pytest.approx(
                block.variance, rel=5.0 * math.sqrt(2.0 / draws)
            )


def test_a_release_without_luck_is_the_exact_sum_up_to_half_a_step():
    plain = task(4)
    stage = first_stage(plain)
    moments = filled(plain, stage)
    totals = Totals(stage)
    totals.add(release(moments, Still()))
    assert np.abs(totals.sums() - moments.sums() * stage.grid).max() <= stage.sums.worth / 2
    assert (
        np.abs(totals.second() - moments.second() * stage.grid**2).max() <= stage.diagonal.worth / 2
    )


def test_coded_sums_are_the_slice_sums_times_the_code():
    coded = screened(6, code="simplex")
    stage = first_stage(coded)
    moments = filled(coded, stage)
    totals = Totals(stage)
    totals.add(release(moments, Still()))
    expected = moments.sums() * stage.grid @ (np.array(stage.code) / CODE_UNIT)
    assert np.abs(totals.sums() - expected).max() <= stage.sums.worth / 2
    assert totals.counts().size == 0
    assert totals.code().shape == (3, 2)


def test_every_release_draws_its_own_noise():
    plain = task(4)
    moments = filled(plain, first_stage(plain))
    noise = SeededNoise(1)
    first = release(moments, noise)
    second = release(moments, noise)
    assert not np.array_equal(first.blocks[0], second.blocks[0])
    assert not np.array_equal(first.blocks[0][:3], first.blocks[2][:3])


def test_a_release_leaves_the_moments_alone():
    plain = task(4)
    moments = filled(plain, first_stage(plain))
    before = moments.state()
    release(moments, SeededNoise(1))
    assert moments.state() == before
