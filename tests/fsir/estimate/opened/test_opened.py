"""Totals of opened cohorts and of groups: their values, and the noise they are said to have."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.subspace import fit
from fsir.estimate.totals import Totals, opened_totals
from fsir.estimate.trimming import cut_groups, grouped_totals
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import Release
from fsir.secure.opening import aggregator_noise
from tests.fsir.secure.made import released
from tests.fsir.tasks import shared

COHORT = 8
TASK = shared(cohort=COHORT)
STAGE = first_stage(TASK)
RUNS = 400


def blocks_of(values):
    return tuple(values[span] for span in STAGE.spans)


def pure_noise(run, devices, cohorts=1):
    """The opened vectors of devices without any record, added up."""
    shape = [np.zeros(block.size) for block in STAGE.blocks]
    total = sum(aggregator_noise(STAGE, SeededNoise(run, f"{c}")) for c in range(2 * cohorts))
    for device in range(devices):
        noise = SeededNoise(run, f"device {device}")
        parts = zip(STAGE.blocks, shape, strict=True)
        total = total + np.concatenate(
            [noise.perturb(zero, block.sd / block.unit, block.step) for block, zero in parts]
        )
    return total


@pytest.mark.parametrize(("devices", "cohorts"), [(COHORT, 1), (3 * COHORT, 2)])
def test_opened_values_scatter_as_the_totals_say(devices, cohorts):
    drawn = np.stack([pure_noise(run, devices, cohorts) for run in range(RUNS)])
    totals = opened_totals(STAGE, drawn[0], devices, cohorts, devices * 100)
    assert totals.noises == devices + 2 * COHORT * cohorts
    for block, span in zip(STAGE.blocks, STAGE.spans, strict=True):
        values = drawn[:, span] * block.worth
        claimed = totals.noises * block.variance
        assert values.var() == pytest.approx(claimed, rel=6.0 * (2.0 / values.size) ** 0.5 + 0.015)


def test_opened_totals_are_the_sum_of_the_releases_where_there_is_no_other_noise():
    releases = [released(TASK, seed) for seed in range(3)]
    plain = Totals(STAGE)
    for one in releases:
        plain.add(one)
    values = sum(np.concatenate(one.blocks) for one in releases)
    totals = opened_totals(STAGE, values, 3, 1, plain.n)
    assert (totals.sums() == plain.sums()).all()
    assert (totals.second() == plain.second()).all()
    assert (totals.devices, totals.n) == (plain.devices, plain.n)
    assert plain.noises == 3
    # More noise is expected of the same values, in every level that an estimate knows.
    ours = fit(TASK, totals).m.levels
    theirs = fit(TASK, plain).m.levels
    assert ours.sums == pytest.approx(theirs.sums * totals.noises / 3)
    assert ours.off_diagonal == pytest.approx(theirs.off_diagonal * totals.noises / 3)


def group(values, devices, cohorts=1):
    return opened_totals(STAGE, values, devices, cohorts, 100 * devices)


def test_groups_of_any_size_count_alike_and_in_any_order():
    size = sum(STAGE.sizes)
    sizes = (8, 9, 12, 30)
    groups = [group(np.full(size, 6 * devices), devices) for devices in sizes]
    totals = grouped_totals(STAGE, groups)
    assert (totals.devices, totals.n) == (59, 5900)
    # Every device says 6, and so do all together.
    assert totals.counts() == pytest.approx(59 * 6 * STAGE.counts.worth)
    mixed = grouped_totals(STAGE, groups[::-1])
    assert [block.tolist() for block in mixed.blocks] == [b.tolist() for b in totals.blocks]


@pytest.mark.parametrize("liars", [1, 2, 3])
def test_as_many_groups_as_are_cut_off_can_say_anything(liars):
    rng = np.random.default_rng(liars)
    size = sum(STAGE.sizes)
    honest = [rng.integers(-500, 500, size) for _ in range(10 - liars)]
    lies = [np.full(size, lie) for lie in (2**47, -(2**47), 10**9)[:liars]]
    totals = grouped_totals(STAGE, [group(values, 8) for values in (*honest, *lies)])
    means = np.stack(honest) / 8
    for block, span in zip(totals.blocks, STAGE.spans, strict=True):
        mean = block * totals.scale / totals.devices
        assert (mean >= means[:, span].min(axis=0) - 2**-12).all()
        assert (mean <= means[:, span].max(axis=0)).all()
    assert cut_groups(10) == 3


@pytest.mark.parametrize("groups", [4, 10])
def test_trimmed_groups_scatter_as_the_totals_say(groups):
    sizes = [8 + i % 3 for i in range(groups)]
    runs = 250
    drawn = []
    for run in range(runs):
        made = [
            group(pure_noise(1000 * run + i, devices), devices) for i, devices in enumerate(sizes)
        ]
        totals = grouped_totals(STAGE, made)
        drawn.append(totals.sums().reshape(-1))
    values = np.stack(drawn)
    claimed = totals.inflation * totals.noises * STAGE.sums.variance
    assert values.var() == pytest.approx(claimed, rel=6.0 * (2.0 / values.size) ** 0.5 + 0.03)


def test_without_any_group_there_is_nothing():
    totals = grouped_totals(STAGE, [])
    assert (totals.devices, totals.n, totals.noises) == (0, 0, 0)
    alone = group(np.arange(sum(STAGE.sizes)), 8)
    assert grouped_totals(STAGE, [alone]).sums() == pytest.approx(alone.sums(), abs=8 * 2**-12)


def test_a_release_can_still_be_added_and_taken_out():
    totals = opened_totals(STAGE, np.zeros(sum(STAGE.sizes), np.int64), 8, 1, 800)
    one = Release(100, blocks_of(np.arange(sum(STAGE.sizes))))
    totals.add(one)
    totals.add(one, -1)
    assert totals.noises == 8 + 16
