"""A rehearsal has the noise of the devices that it stands for, and changes only what is plain."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.privacy.noise import SeededNoise
from fsir.proposal.constants import Choice, Expectation
from fsir.proposal.discriminants import blocks
from fsir.proposal.rehearsal import FleetNoise, Rehearsed, best, can_rehearse, rehearse

USUAL = Choice(coordinates=3)
OTHER = Choice(coordinates=3, clip_factor=2.0)


def test_the_noise_of_a_fleet_has_the_law_of_its_devices():
    devices = 25
    values = np.full(4000, 37.0)
    singly = sum(SeededNoise(1, str(k)).perturb(values, 80.0, 8) for k in range(devices))
    noise = FleetNoise(devices, 5, np.random.default_rng(0))
    at_once = noise.perturb(values * 5.0, 80.0, 8)  # the records of five, which stand for 25
    exact = 37.0 * devices / 8
    sd = (devices * (80.0**2 / 64 + 1.0 / 12)) ** 0.5
    for found in (singly, at_once):
        assert found.dtype == np.int64
        assert found.mean() == pytest.approx(exact, abs=4.0 * sd / 4000**0.5)
        assert found.std() == pytest.approx(sd, rel=0.05)


def test_only_what_is_plainly_better_is_chosen():
    rng = np.random.default_rng(0)
    usual = rng.uniform(0.7, 0.9, 10)
    little = usual + 0.002
    chance = usual + rng.normal(0.0, 0.1, 10)
    plain = usual + 0.05
    for other, chosen in ((little, USUAL), (chance, USUAL), (plain, OTHER), (-plain, USUAL)):
        assert best(Rehearsed(usual, {USUAL: usual, OTHER: other}), USUAL) == chosen


def test_with_huge_noise_the_usual_choice_stays():
    rng = np.random.default_rng(0)
    slices = np.arange(150) % 3
    X = rng.normal(size=(150, 4)) + 2.0 * np.eye(4)[slices]
    parts = blocks(slices, 3)
    drowned = Expectation(devices=1, records=5, epsilon=0.01)
    found = rehearse(X, slices, parts, 0.3, drowned, [USUAL, OTHER, Choice(coordinates=2)])
    assert best(found, USUAL) == USUAL
    for scores in found.by_choice.values():
        assert scores.mean() == pytest.approx(found.alone.mean(), abs=0.05)


def test_progress_tells_of_every_step_and_ends():
    rng = np.random.default_rng(0)
    slices = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 2.0 * np.eye(4)[slices]
    told = []
    expected = Expectation(devices=5, records=50, epsilon=1.0)
    choices = [USUAL, OTHER]

    def tell(done, total):
        told.append((done, total))

    rehearse(X, slices, blocks(slices, 3), 0.3, expected, choices, tell)
    assert told == [(k, 10) for k in range(1, 11)]


def test_a_sample_without_some_class_in_its_parts_cannot_be_rehearsed():
    slices = np.array([0, 0, 0, 1, 1, 1, 2])
    assert not can_rehearse(slices, 3, np.array([0, 1, 2, 0, 1, 2, 0]))
    assert can_rehearse(slices[:6], 2, np.array([0, 1, 2, 0, 1, 2]))
    assert not can_rehearse(slices[:6], 2, np.array([0, 1, 1, 0, 1, 1]))
