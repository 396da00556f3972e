"""Constants of a task: as many coordinates as noise, sample and message allow."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.limits import TASK_BYTES
from fsir.proposal.constants import (
    MOST_COORDINATES,
    MOST_OVER_ROUNDS,
    Choice,
    Expectation,
    PublicSample,
    most_coordinates,
    usual_choice,
)
from fsir.task.public_map import unpack


def test_more_devices_records_and_budget_let_use_more_coordinates():
    def size(**more):
        expected = {"devices": 20, "records": 100, "epsilon": 1.0, **more}
        return usual_choice(Expectation(**expected), 4, 1000).coordinates

    assert size() < size(devices=40) < size(devices=40, records=200)
    assert size(epsilon=0.5) < size() < size(epsilon=2.0)
    assert size(unit_records=2) < size()
    assert size(devices=1, records=4) == 3  # what the sample's classifier needs


def test_a_sample_and_a_message_bound_the_coordinates():
    assert most_coordinates(1000, 7, 3) == 7
    assert most_coordinates(50, 700, 3) == 47
    assert most_coordinates(1000, 700, 3) == MOST_COORDINATES
    assert most_coordinates(1000, 700, 3, rounds=10) == MOST_OVER_ROUNDS
    assert most_coordinates(2, 7, 3) == 1
    wide = most_coordinates(1000, 20_000, 3)
    assert 4 * wide * 20_000 < TASK_BYTES


def test_sections_hold_map_centres_and_a_clip_that_fits_them():
    rng = np.random.default_rng(0)
    slices = np.arange(90) % 3
    X = rng.normal(size=(90, 6)) + slices[:, None]
    sample = PublicSample.of(X, slices, 3, 0.3, 6)
    sections = sample.sections(Choice(coordinates=4, clip_factor=2.0, split=0.5))
    public = sections["public"]
    P = unpack(public["map"], 4)
    assert P.shape == (6, 4)
    Z = (X - sections["features"]["centre"]) / sections["features"]["scale"]
    for h, centre in enumerate(unpack(public["centres"], 4)):
        assert centre == pytest.approx((Z[slices == h] @ P).mean(axis=0), abs=1e-4)
    assert sections["clip"]["norm"] == 4.0
    assert sections["privacy"] == {"split": 0.5}
    assert sum(public["shares"]) == pytest.approx(1.0, abs=1e-5)
    assert public["records"] == 90
    few = sample.sections(Choice(coordinates=99))
    assert few["public"]["coordinates"] == 6
