from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.estimate.totals import Totals
from fsir.privacy.codes import CODE_UNIT
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise, SeededNoise
from fsir.privacy.plan import final_stage, first_stage
from fsir.privacy.release import Release, release
from tests.fsir.tasks import screened, task


class Still(Noise):
    """A source that only ever draws 0."""

    def _bytes(self, count):
        return b"\xff" * count


def filled(found, stage, n=200, seed=0):
    rng = np.random.default_rng(seed)
    moments = Moments(found, stage)
    X = rng.normal(size=(n, stage.p))
    moments.learn_many(X, rng.choice(found.response.classes, n))
    return moments


BARE = task(4, privacy={"mechanism": "none"})


def test_without_noise_the_merged_totals_are_the_exact_sums():
    stage = first_stage(BARE)
    totals = Totals(stage)
    exact = [filled(BARE, stage, seed=seed) for seed in range(3)]
    for moments in exact:
        totals.add(release(moments, SeededNoise(0)))
    assert (totals.n, totals.devices) == (600, 3)
    assert np.array_equal(totals.sums(), sum(m.sums() for m in exact) * stage.grid)
    assert np.array_equal(totals.counts(), sum(m.counts() for m in exact))
    assert np.array_equal(totals.second(), sum(m.second() for m in exact) * stage.grid**2)
    assert np.array_equal(totals.code(), np.eye(3))


def test_the_layout_is_the_documented_one():
    stage = first_stage(BARE)
    moments = filled(BARE, stage)
    sums, counts, diagonal, upper = release(moments, SeededNoise(0)).blocks
    assert sums.tolist() == [moments.sums()[j, h] for j in range(4) for h in range(3)]
    assert counts.tolist() == moments.counts().tolist()
    assert diagonal.tolist() == [moments.second()[j, j] for j in range(4)]
    assert upper.tolist() == [moments.second()[j, k] for j in range(4) for k in range(j + 1, 4)]


@pytest.mark.parametrize(
    ("found", "features"),
    [
        (task(4), (0, 1, 2, 3)),
        (screened(6), None),
        (screened(6), (0, 2, 5)),
        (screened(6, code="simplex"), None),
    ],
    ids=["one stage", "screening", "final", "coded"],
)
def test_published_values_scatter_around_the_exact_ones_as_the_plan_says(found, features):
    stage = first_stage(found) if features is None else final_stage(found, features)
    moments = filled(found, stage)
    exact = [block * 0.0 for block in Totals(stage).blocks]
    still = release(moments, Still())
    scores = [[] for _ in stage.blocks]
    for seed in range(300):
        for score, values, block, middle in zip(
            scores,
            release(moments, SeededNoise(seed)).blocks,
            stage.blocks,
            still.blocks,
            strict=True,
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
    found = task(4)
    stage = first_stage(found)
    moments = filled(found, stage)
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
    found = task(4)
    moments = filled(found, first_stage(found))
    noise = SeededNoise(1)
    first, second = release(moments, noise), release(moments, noise)
    assert not np.array_equal(first.blocks[0], second.blocks[0])
    assert not np.array_equal(first.blocks[0][:3], first.blocks[2][:3])


def test_a_release_leaves_the_moments_alone():
    found = task(4)
    moments = filled(found, first_stage(found))
    before = moments.state()
    release(moments, SeededNoise(1))
    assert moments.state() == before


STAGE = first_stage(task(2))
whole = st.integers(-(2**40), 2**40)
releases = st.builds(
    lambda n, *blocks: Release(n, tuple(np.array(block, np.int64) for block in blocks)),
    st.integers(1, 1000),
    *(st.lists(whole, min_size=block.size, max_size=block.size) for block in STAGE.blocks),
)


@given(st.lists(releases, min_size=1, max_size=6), st.data())
def test_totals_are_the_same_in_any_order_and_a_release_can_be_taken_out(found, data):
    together = Totals(STAGE)
    for one in data.draw(st.permutations(found)):
        together.add(one)
    kept = Totals(STAGE)
    for one in found[1:]:
        kept.add(one)
    assert [block.tolist() for block in together.blocks] == [
        sum(parts).tolist() for parts in zip(*(one.blocks for one in found), strict=True)
    ]
    together.add(found[0], times=-1)
    assert (together.n, together.devices) == (kept.n, kept.devices)
    assert all(np.array_equal(a, b) for a, b in zip(together.blocks, kept.blocks, strict=True))


def test_a_release_of_another_shape_is_refused_whole():
    totals = Totals(STAGE)
    sizes = [block.size for block in STAGE.blocks]
    for wrong in ([*sizes[:3], sizes[3] + 1], [1, *sizes[1:]], sizes[:3]):
        with pytest.raises(ValueError, match="does not belong"):
            totals.add(Release(5, tuple(np.ones(size, np.int64) for size in wrong)))
    assert totals.n == totals.devices == 0
    assert not any(block.any() for block in totals.blocks)
