"""What is emitted: directions of the features, a classifier, and what to expect of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsir.estimate.classifier import doubts
from fsir.estimate.projection import Projector
from fsir.estimate.public.corrected import corrected
from fsir.estimate.subspace import estimate, projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.plan import first_stage
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, encode
from tests.fsir.estimate.public.worlds import H, P, World, without_noise


def accuracy(task, subspace, world, centres, n=4000):
    X, slices = world.records(n, centres)
    named, confidence = Projector(task, subspace).classify(X)
    return np.mean(np.array(named, dtype=int) == slices), confidence.mean()


def test_no_device_at_all_gives_the_samples_own_result():
    world = World()
    task = world.task()
    alone = estimate(task, Totals(first_stage(task)))
    assert (alone.devices, alone.records) == (0, 0)
    assert alone.expected_accuracy == pytest.approx(task.public.accuracy, abs=0.03)
    right, _ = accuracy(task, alone, world, world.public)
    assert right > 0.8


def test_many_devices_give_what_the_data_say():
    world = World(strange=0.8)
    task = without_noise(world.task(devices=1000, records=2000))
    found = estimate(task, world.totals(task, 5, records=8000))
    right, _ = accuracy(task, found, world, world.people)
    # Unit covariance: the best rule of all is the nearest centre.
    X, slices = world.records(4000, world.people)
    best = np.mean(((X[:, None] - world.people) ** 2).sum(-1).argmin(1) == slices)
    assert right > best - 0.015
    directions = (world.people - world.people.mean(0)).T
    basis = found.basis / np.array(task.features.scale)[:, None]
    truth = np.linalg.svd(directions)[0][:, : H - 1]
    assert projection_loss(basis, truth) < 0.15


def test_coordinates_have_unit_variance_and_the_first_tells_most():
    world = World(strange=0.8)
    task = without_noise(world.task(devices=1000, records=2000))
    found = estimate(task, world.totals(task, 5, records=8000))
    X, _ = world.records(20_000, world.people)
    z = Projector(task, found).project(X)
    assert np.cov(z.T) == pytest.approx(np.eye(H - 1), abs=0.08)
    assert (np.diff(found.singular_values) <= 0).all()
    largest = np.abs(found.basis).argmax(0)
    assert (found.basis[largest, np.arange(H - 1)] > 0).all()


def test_the_classifier_keeps_all_directions_when_fewer_are_shown():
    world = World(strange=0.3)
    wide = world.task(devices=40, epsilon=4.0)
    narrow = replace(wide, dimension=1)
    totals = world.totals(wide, 40)
    all_of_them = estimate(wide, totals)
    shown = estimate(narrow, totals)
    assert (all_of_them.dimension, shown.dimension) == (H - 1, 1)
    X, _ = world.records(500, world.people)
    assert Projector(narrow, shown).classify(X)[0] == Projector(wide, all_of_them).classify(X)[0]


def test_the_message_carries_it_all():
    world = World()
    task = world.task(dimension=1)
    found = estimate(task, world.totals(task, 10))
    again = decode(encode(found), Subspace)
    X, _ = world.records(50, world.people)
    ours = Projector(task, found).classify(X)
    theirs = Projector(task, again).classify(X)
    assert ours[0] == theirs[0]
    assert ours[1] == pytest.approx(theirs[1])
    assert again.classifier.whitening.shape == (task.coordinates,) * 2
    assert again.expected_accuracy == found.expected_accuracy


def test_who_goes_on_learning_gets_the_same_rule():
    world = World()
    task = world.task(devices=30, epsilon=4.0)
    found = estimate(task, world.totals(task, 30))
    X, _ = world.records(400, world.people)
    standard = (X - np.array(task.features.centre)) / np.array(task.features.scale)
    v = standard @ task.public.matrix(P) @ found.classifier.whitening
    shares = np.exp(
        found.classifier.bias + 0.5 * (found.classifier.weights * found.classifier.centroids).sum(1)
    )
    scores = np.log(shares) - 0.5 * ((v[:, None] - found.classifier.centres) ** 2).sum(-1)
    assert list(scores.argmax(1).astype(str)) == Projector(task, found).classify(X)[0]


@pytest.mark.parametrize("strange", [0.3, 0.8])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_accuracy_that_is_expected_comes(strange, epsilon):
    expected = []
    came = []
    said = []
    for seed in range(6):
        world = World(seed, strange=strange)
        task = world.task(devices=20, epsilon=epsilon)
        found = estimate(task, world.totals(task, 20, seed=seed))
        right, confidence = accuracy(task, found, world, world.people, 2000)
        expected.append(found.expected_accuracy)
        came.append(right)
        said.append(confidence)
    assert np.mean(expected) == pytest.approx(np.mean(came), abs=0.03)
    assert np.mean(said) == pytest.approx(np.mean(came), abs=0.05)


def test_a_classifier_that_cannot_beat_guessing_says_so():
    world = World(apart=0.0, strange=0.0)
    task = world.task(devices=30, epsilon=8.0)
    found = corrected(task, task.public, world.totals(task, 30), version=1, refused=0)
    projector = Projector(task, found)
    useless = found.expected_accuracy <= found.classifier.guess
    assert useless == any("no more often" in note for note in found.notes)
    assert useless == ("no more often" in (projector.doubt("0") or ""))
    assert found.expected_accuracy < found.classifier.guess + 0.05
    (note,) = doubts(found.classifier, 0.1)
    assert "no more often than who always names the commonest class" in note
    assert doubts(found.classifier, 0.9) == []


def test_the_same_reports_give_the_same_bits():
    world = World()
    task = world.task()
    totals = world.totals(task, 5)
    assert encode(estimate(task, totals)) == encode(estimate(task, totals))


def test_the_public_rule_stays_where_reports_are_all_noise():
    stayed = 0
    for seed in range(10):
        world = World(seed, strange=0.0)
        task = world.task(devices=5, records=100, epsilon=0.05)
        alone = estimate(task, Totals(first_stage(task)))
        found = estimate(task, world.totals(task, 5, records=100, seed=seed))
        X, _ = world.records(1000, world.public)
        named = np.array(Projector(task, found).classify(X)[0])
        same = np.mean(named == np.array(Projector(task, alone).classify(X)[0]))
        assert same > 0.9
        stayed += any("whose own rule is kept" in note for note in found.notes)
    assert stayed >= 8
    task = World(strange=0.8).task(devices=20, epsilon=4.0)
    helpful = estimate(task, World(strange=0.8).totals(task, 20))
    assert not any("whose own rule is kept" in note for note in helpful.notes)


def test_it_says_where_few_reports_leave_the_accuracy_open():
    world = World()
    task = world.task()
    rough = [
        any("to within about" in note for note in estimate(task, world.totals(task, devices)).notes)
        for devices in (2, 500)
    ]
    assert rough == [True, False]
    assert not estimate(task, Totals(first_stage(task))).notes
