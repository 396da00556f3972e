"""A proposal is a task that works, says why, and serves a number as well as classes."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.errors import FsirError
from fsir.estimate.subspace import estimate, projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.proposal.constants import Expectation
from fsir.proposal.proposal import propose
from tests.fsir.proposed import clouds, friedman, friedman_task, proposed_task

EXPECTED = Expectation(devices=30, records=200, epsilon=1.0, delta=1e-6)


def test_the_same_sample_gives_the_same_task_and_reasons():
    X, slices = clouds(150, 8, 3, 1.0, np.random.default_rng(0))
    one = propose(X, slices, 3, EXPECTED)
    again = propose(X, slices, 3, EXPECTED)
    assert one.sections == again.sections
    assert one.why == again.why
    assert {"scale", "map", "rehearsal", "coordinates", "clip", "split"} <= set(one.why)
    task = proposed_task(X, slices, {"classes": ["0", "1", "2"]}, EXPECTED)
    assert task.public is not None
    assert 0.5 < task.public.accuracy <= 1.0


def test_people_are_the_parts_of_a_rehearsal_where_there_are_enough():
    X, slices = clouds(150, 8, 3, 1.0, np.random.default_rng(0))
    people = np.arange(150) // 3 % 6
    played = propose(X, slices, 3, EXPECTED, people).why
    assert played["rehearsal"].startswith("played by people of the sample")
    assert "of people that it has not seen" in played["sample"]
    # Blocks of one person's records are no strangers: nothing is chosen by them.
    alone = propose(X, slices, 3, EXPECTED, people % 2).why
    assert alone["rehearsal"].startswith("none: it takes the records of 5 people")
    assert "of blocks that it has not seen" in alone["sample"]


def test_the_map_has_as_many_coordinates_as_asked():
    X, slices = clouds(150, 8, 3, 1.0, np.random.default_rng(0))
    people = np.arange(150) // 3 % 6
    for groups in (None, people):
        found = propose(X, slices, 3, EXPECTED, groups, coordinates=5)
        assert found.sections["public"]["coordinates"] == 5
        assert found.why["coordinates"] == "5, as asked"
        assert "2 coordinates" not in found.why["rehearsal"]
    for wrong in (0, 9):
        with pytest.raises(FsirError, match=f"coordinates = {wrong}: .* give 1 to 8"):
            propose(X, slices, 3, EXPECTED, coordinates=wrong)


def test_a_sample_that_is_too_small_to_rehearse_gives_a_task_all_the_same():
    X, slices = clouds(150, 8, 3, 1.0, np.random.default_rng(0))
    first = np.concatenate([np.flatnonzero(slices == h)[:2] for h in range(3)])
    found = propose(X[first], slices[first], 3, EXPECTED)
    assert found.why["rehearsal"].startswith("none")
    assert "accuracy" not in found.sections["public"]


def sir(X, y, H=8):
    """The first direction of plain sliced inverse regression."""
    slices = np.searchsorted(np.quantile(y, np.arange(1, H) / H), y)
    centred = X - X.mean(axis=0)
    means = np.stack([centred[slices == h].mean(axis=0) for h in range(H)])
    root = np.linalg.cholesky(np.linalg.inv(centred.T @ centred / len(X)))
    shares = np.bincount(slices, minlength=H) / len(X)
    return root @ np.linalg.svd((means * np.sqrt(shares)[:, None]) @ root)[2][:1].T


@pytest.mark.long
def test_of_a_number_reports_are_no_worse_than_the_sample_or_one_device_without_noise():
    # Friedman's features are uniform: their covariance is a multiple of the identity.
    truth = sir(*friedman(10**6, np.random.default_rng(999)))
    losses = []
    for seed in range(10):
        task, X, y = friedman_task(EXPECTED, seed, dimension=1)
        rng = np.random.default_rng((seed, 1))
        totals = Totals(first_stage(task))
        for device in range(EXPECTED.devices):
            own = friedman(EXPECTED.records, rng)
            moments = Moments(task, totals.stage)
            moments.learn_many(*own)
            totals.add(release(moments, SeededNoise(seed, str(device))))
        basis = estimate(task, totals).basis / np.array(task.features.scale)[:, None]
        found = (basis, sir(X, y), sir(*own))
        losses.append([projection_loss(direction, truth) for direction in found])
    federated, sample, one_device = np.mean(losses, axis=0)
    print(f"federated {federated:.4f}, sample {sample:.4f}, one device {one_device:.4f}")
    assert federated <= sample
    assert federated <= one_device
