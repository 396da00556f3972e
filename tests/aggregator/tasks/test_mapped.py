"""A forecast by the public sample: the invented sums are those of devices, and the loss is real."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.tasks import mapped
from aggregator.tasks.invented import Fleet
from aggregator.tasks.mapped import forecast
from fsir.contract import task_from_table
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.proposal.constants import Expectation
from tests.fsir.proposed import clouds_task, friedman_task

NUMBER = Expectation(devices=30, records=200, epsilon=1.0)
SIZES = (10, 100, 1000)


def test_the_invented_sums_are_those_of_real_devices():
    task = clouds_task(200, 4, 3, 1.0)
    stage = first_stage(task)
    devices = 40
    records = 600
    q = task.coordinates
    shifts = np.array([[0.9, 0, 0, 0], [0, -0.7, 0.3, 0], [0, 0, 0, 0.1]])[:, :q]
    real = Totals(stage)
    rng = np.random.default_rng(0)
    back = np.linalg.pinv(task.public.matrix(task.p))
    shares = np.array(task.public.shares)
    for device in range(devices):
        slices = rng.choice(3, records, p=shares / shares.sum())
        mapped_rows = (task.public.centre_rows() + shifts)[slices]
        mapped_rows = mapped_rows + rng.normal(size=(records, q))
        X = mapped_rows @ back * task.features.scale + task.features.centre
        moments = Moments(task, stage)
        moments.learn_many(X, slices.astype(str))
        real.add(release(moments, SeededNoise(device)))
    fleet = Fleet.of(task, stage, records, devices)
    invented = fleet.totals(mapped._sums(stage, task.public, shifts, np.eye(q), fleet, rng), rng)
    assert (invented.n, invented.devices) == (real.n, real.devices)
    # Both have the noise of the mechanism; that of sampling is a third of it, and less.
    for block, ours, theirs in zip(stage.blocks, invented.blocks, real.blocks, strict=True):
        sd = block.sd / block.worth * devices**0.5
        assert np.abs(ours - theirs).max() < 5.0 * 2.0**0.5 * sd, block.name
    # ... and both are far less than what the records themselves add up to.
    assert np.abs(real.blocks[0]).max() > 20.0 * stage.sums.sd / stage.sums.worth * devices**0.5


def test_the_clip_is_felt_and_chance_is_not():
    z = np.random.default_rng(0).normal(size=(1000, 6))
    mean, variance = mapped._clipped(np.zeros(6), 1e9, z)
    assert np.abs(mean).max() < 1e-12
    assert variance == pytest.approx(1.0, abs=0.05)
    shift = np.array([1.0, 0, 0, 0, 0, 0])
    free, _ = mapped._clipped(shift, 1e9, z)
    assert free == pytest.approx(shift)
    bound, narrower = mapped._clipped(shift, 1.5, z)
    assert 0.2 < bound[0] < 0.8
    assert np.abs(bound[1:]).max() < 0.05
    assert narrower < variance


def test_more_devices_help_and_the_sample_alone_is_the_worst():
    task = clouds_task(200, 20, 4, 0.6)
    found = [forecast(task, task.public, 300, devices) for devices in (0, 10, 1000)]
    losses = [each.loss for each in found]
    accuracies = [each.expected_accuracy for each in found]
    assert losses == sorted(losses, reverse=True)
    assert accuracies == sorted(accuracies)


def test_trimming_costs_a_little():
    task = clouds_task(200, 20, 4, 0.6)
    table = task.table() | {"aggregation": "trimmed"}
    trimmed = task_from_table(table)
    plain = forecast(task, task.public, 300, 100).loss
    assert plain < forecast(trimmed, trimmed.public, 300, 100).loss < 1.4 * plain


def ratios(task, records, federations):
    """Of losses that came to errors that were expected, pooled, and the largest one."""
    found = [forecast(task, task.public, records, devices, federations) for devices in SIZES]
    each = [one.loss / one.expected_error for one in found]
    return sum(one.loss for one in found) / sum(one.expected_error for one in found), max(each)


# With very many devices what the clip takes is no longer small beside the noise: five coordinates
# and 1000 devices have a ratio of 1.4, of a loss of 0.08.
@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "p", "H", "apart"), [(200, 5, 3, 0.8), (300, 60, 6, 0.5), (300, 100, 8, 0.4)]
)
def test_the_estimate_says_of_classes_how_far_off_it_is(n, p, H, apart):
    pooled, largest = ratios(clouds_task(n, p, H, apart), 300, 20)
    assert 0.8 < pooled < 1.25
    assert largest < 1.6


@pytest.mark.long
def test_the_estimate_says_of_a_number_how_far_off_it_is():
    task, _, _ = friedman_task(NUMBER, seed=1)
    pooled, largest = ratios(task, 200, 60)
    assert 0.8 < pooled < 1.25
    assert largest < 1.6
