"""What the clip takes is computed as it happens."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.covariance import Levels
from fsir.estimate.public.clip import Kept, kept_by

NO_NOISE = Levels(sums=0.0, counts=0.0, diagonal=0.0, off_diagonal=0.0)


@pytest.mark.parametrize("q", [2, 5, 30, 150])
@pytest.mark.parametrize("variance", [1.0, 1.4, 2.0])
def test_it_is_what_a_clip_does_to_normal_records(q, variance):
    rng = np.random.default_rng(0)
    rows = variance**0.5 * rng.normal(size=(40_000 // q + 2000, q))
    clip = 1.5 * q**0.5
    left = np.minimum(1.0, clip / np.linalg.norm(rows, axis=1))
    clipped = rows * left[:, None]
    kept = kept_by(clipped.T @ clipped / len(rows), NO_NOISE, clip)
    assert kept.length == pytest.approx(left.mean(), abs=0.04)
    assert kept.square == pytest.approx((clipped**2).sum() / (rows**2).sum(), abs=0.06)


def test_a_second_moment_that_is_all_noise_gives_nothing_back():
    wild = Levels(sums=1.0, counts=1.0, diagonal=1e6, off_diagonal=5e5)
    second = np.eye(10) * 20.0
    assert kept_by(second, wild, 5.0).length > 0.95


def test_only_a_share_of_it_may_be_given_back():
    kept = Kept(0.5, 0.2)
    assert kept.towards_one(0.0) == (1.0, 1.0)
    assert kept.towards_one(1.0) == pytest.approx(kept)
    assert kept.towards_one(0.5).length == pytest.approx(0.75)
    assert kept.towards_one(0.5).square == pytest.approx(0.6)
