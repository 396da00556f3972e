"""Totals are exact, the same in any order, and any release can be taken out again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import Release, release
from tests.fsir.learned import filled
from tests.fsir.tasks import task

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


STAGE = first_stage(task(2))
whole = st.integers(-(2**40), 2**40)
releases = st.builds(
    lambda n, *blocks: Release(n, tuple(np.array(block, np.int64) for block in blocks)),
    st.integers(1, 1000),
    *(st.lists(whole, min_size=size, max_size=size) for size in STAGE.sizes),
)


@given(st.lists(releases, min_size=1, max_size=6), st.data())
def test_totals_are_the_same_in_any_order_and_a_release_can_be_taken_out(several, data):
    together = Totals(STAGE)
    for one in data.draw(st.permutations(several)):
        together.add(one)
    kept = Totals(STAGE)
    for one in several[1:]:
        kept.add(one)
    assert [block.tolist() for block in together.blocks] == [
        sum(parts).tolist() for parts in zip(*(one.blocks for one in several), strict=True)
    ]
    together.add(several[0], times=-1)
    assert (together.n, together.devices) == (kept.n, kept.devices)
    assert all(np.array_equal(a, b) for a, b in zip(together.blocks, kept.blocks, strict=True))


def test_a_release_of_another_shape_is_refused_whole():
    totals = Totals(STAGE)
    sizes = STAGE.sizes
    for wrong in ([*sizes[:3], sizes[3] + 1], [1, *sizes[1:]], sizes[:3]):
        with pytest.raises(ValueError, match="does not belong"):
            totals.add(Release(5, tuple(np.ones(size, np.int64) for size in wrong)))
    assert totals.n == totals.devices == 0
    assert not any(block.any() for block in totals.blocks)


@pytest.mark.parametrize(("version", "refused"), [(1, 0), (2, 0), (2, 60)])
def test_records_that_were_refused_are_noticed_by_the_counts(version, refused):
    """Where counts and records agree within their noise, the exact number is used."""
    of = task(version=version, privacy={"epsilon": 8.0})
    totals = Totals(first_stage(of))
    for seed in range(20):
        moments = filled(of, first_stage(of), 100 - refused, seed=seed)
        moments.refuse("no label", refused)
        totals.add(release(moments, SeededNoise(seed)))
    assert totals.n == 2000
    sd = math.sqrt(20 * 3 * totals.stage.counts.variance)
    if refused:
        assert totals.accepted == pytest.approx(2000 - 20 * refused, abs=5 * sd)
        assert totals.accepted < 2000
    else:
        assert totals.accepted == 2000


def test_a_federation_of_refused_records_alone_counts_at_least_one():
    of = task(privacy={"epsilon": 8.0})
    moments = Moments(of, first_stage(of))
    moments.refuse("no label", 100_000)
    totals = Totals(first_stage(of))
    totals.add(release(moments, SeededNoise(1)))
    assert 1 <= totals.accepted < 1000
