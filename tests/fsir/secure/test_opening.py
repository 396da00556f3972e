"""The noise of an aggregator, and the groups of devices."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fsir.privacy.noise import SeededNoise, SystemNoise
from fsir.privacy.plan import first_stage
from fsir.secure.groups import group_of
from fsir.secure.opening import aggregator_noise, noised_sum, opened
from fsir.secure.ring import ring_of
from tests.fsir.secure.made import keyed_task
from tests.fsir.tasks import shared


@pytest.mark.parametrize("cohort", [2, 20, 100])
def test_an_aggregator_adds_all_of_the_noise_to_every_number(cohort):
    stage = first_stage(shared(30, cohort=cohort))
    drawn = np.stack([aggregator_noise(stage, SeededNoise(seed)) for seed in range(200)])
    for block, span in zip(stage.blocks, stage.spans, strict=True):
        values = drawn[:, span] * block.worth
        sd = np.sqrt(block.added**2 + block.worth**2 / 12)
        draws = values.size
        assert values.std() == pytest.approx(sd, rel=6.0 / np.sqrt(2 * draws))
        assert abs(values.mean()) < 6.0 * sd / np.sqrt(draws)
        # Each number of it by itself, and none like its neighbour.
        assert (values.std(axis=0) > 0.7 * sd).all()
        if block.size > 1:
            neighbours = np.corrcoef(values[:, 0], values[:, 1])[0, 1]
            assert abs(neighbours) < 0.45


def test_each_opening_has_noise_of_its_own():
    task = keyed_task()
    stage = first_stage(task)
    ring = ring_of(task, stage)
    first, second = (noised_sum(stage, ring, [], SystemNoise()) for _ in range(2))
    assert (first != second).any()
    both = opened(ring, first, second)
    assert both.tolist() == (ring.lift(first) + ring.lift(second)).tolist()


def test_a_group_follows_from_task_and_name_alone_and_groups_are_even():
    names = [f"device-{i}" for i in range(3000)]
    groups = [group_of(b"d" * 32, name, 10) for name in names]
    assert groups == [group_of(b"d" * 32, name, 10) for name in names]
    assert groups != [group_of(b"e" * 32, name, 10) for name in names]
    assert set(groups) == set(range(10))
    assert min(Counter(groups).values()) > 200
    assert {group_of(b"d" * 32, name, 1) for name in names} == {0}
