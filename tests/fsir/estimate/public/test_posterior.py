"""The sample stands without reports, and is forgotten with many of them."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.public.posterior import posterior
from fsir.estimate.totals import Totals
from fsir.estimate.trimming import trimmed_sum, trimmed_totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from tests.fsir.estimate.public.worlds import World, without_noise


def mapped(task, centres):
    """Centres of the features in the coordinates of the map."""
    standard = (centres - np.array(task.features.centre)) / np.array(task.features.scale)
    return standard @ task.public.matrix(task.p)


def known(task, totals):
    return posterior(task.public, totals, task.clip.norm)


def test_without_reports_the_sample_stands():
    task = World().task()
    found = known(task, Totals(first_stage(task)))
    assert found.centres == pytest.approx(task.public.centre_rows())
    assert found.within == pytest.approx(np.eye(task.coordinates))
    assert found.public_right == task.public.accuracy
    assert found.N == 0


def test_with_exact_reports_it_is_the_devices():
    world = World(strange=0.4)
    task = without_noise(world.task(devices=1000, records=2000))
    found = known(task, world.totals(task, 5, records=8000))
    truth = mapped(task, world.people)
    before = np.linalg.norm(task.public.centre_rows() - truth)
    assert np.linalg.norm(found.centres - truth) < 0.15 * before
    # Records of the devices have unit covariance in the features: the map makes it this.
    scaled = np.array(task.features.scale)[:, None]
    true_within = (task.public.matrix(task.p) / scaled).T @ (task.public.matrix(task.p) / scaled)
    assert found.within == pytest.approx(true_within, abs=0.15)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 8.0])
def test_on_average_it_is_no_worse_than_the_sample(epsilon):
    before = []
    after = []
    for seed in range(12):
        world = World(seed, strange=0.4)
        task = world.task(devices=20, epsilon=epsilon)
        truth = mapped(task, world.people)
        found = known(task, world.totals(task, 20, seed=seed))
        before.append(((task.public.centre_rows() - truth) ** 2).sum())
        after.append(((found.centres - truth) ** 2).sum())
    assert np.mean(after) < 1.02 * np.mean(before)
    if epsilon >= 2.0:
        assert np.mean(after) < 0.6 * np.mean(before)


def test_reports_tell_how_often_the_public_rule_is_right():
    world = World(strange=0.8)
    task = world.task(devices=40, epsilon=4.0)
    found = known(task, world.totals(task, 40))
    X, slices = world.records(20_000, world.people)
    z = mapped(task, X)
    centres = task.public.centre_rows()
    nearest = ((z[:, None] - centres) ** 2).sum(-1).argmin(1)
    assert found.public_right == pytest.approx(np.mean(nearest == slices), abs=0.03)
    assert abs(task.public.accuracy - np.mean(nearest == slices)) > 0.05  # the sample does not know


def test_a_class_that_nobody_reports_is_in_doubt():
    world = World()
    task = world.task(devices=20, epsilon=8.0)
    totals = Totals(first_stage(task))
    for device in range(20):
        X, slices = world.records(300, world.people)
        moments = Moments(task, totals.stage)
        moments.learn_many(X[slices != 2], slices[slices != 2].astype(str))
        moments.refuse("unknown response", int((slices == 2).sum()))
        totals.add(release(moments, SeededNoise(3, str(device))))
    assert known(task, totals).doubtful == (2,)


def test_trimmed_sums_serve_as_well():
    world = World(strange=0.4)
    task = world.task(devices=20, epsilon=4.0)
    truth = mapped(task, world.people)
    stage = first_stage(task)
    rows = []
    for device in range(20):
        X, slices = world.records(300, world.people)
        moments = Moments(task, stage)
        moments.learn_many(X, slices.astype(str))
        rows.append(np.concatenate(release(moments, SeededNoise(5, str(device))).blocks))
    totals = trimmed_totals(stage, trimmed_sum(np.stack(rows, axis=1)), 20, 20 * 300)
    found = known(task, totals)
    before = np.linalg.norm(task.public.centre_rows() - truth)
    assert np.linalg.norm(found.centres - truth) < 0.8 * before


def test_how_sure_the_share_is_comes_true():
    """The share that the public rule names rightly scatters with the noise as it is said to."""
    world = World()
    task = world.task(devices=5, records=300)
    quiet = without_noise(task)
    errors = []
    for seed in range(60):
        world.rng = np.random.default_rng(seed)
        noisy = known(task, world.totals(task, 5, seed=seed))
        world.rng = np.random.default_rng(seed)
        exact = known(quiet, world.totals(quiet, 5))
        errors.append((noisy.public_right - exact.public_right) / noisy.public_right_sd)
        assert exact.public_right_sd < 0.001
    # Shrinking towards what was rehearsed is part of it; so is the cut at 1.
    assert 0.6 < np.sqrt(np.mean(np.square(errors))) < 1.5
    more = known(task, world.totals(task, 20))
    assert noisy.public_right_sd / more.public_right_sd == pytest.approx(2.0, rel=0.15)
