"""What the clip takes is computed as it happens."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.covariance import Levels
from fsir.estimate.public.clip import Kept, kept_by

NO_NOISE = Levels(sums=0.0, counts=0.0, diagonal=0.0, off_diagonal=0.0)
ONE = np.ones(1)


def after(rows, clip):
    """Rows after the clip."""
    return rows * np.minimum(1.0, clip / np.linalg.norm(rows, axis=1))[:, None]


@pytest.mark.parametrize("q", [2, 5, 30, 150])
@pytest.mark.parametrize("variance", [1.0, 1.4, 2.0])
def test_it_is_what_a_clip_does_to_normal_records(q, variance):
    rng = np.random.default_rng(0)
    rows = variance**0.5 * rng.normal(size=(40_000 // q + 2000, q))
    clip = 1.5 * q**0.5
    left = np.minimum(1.0, clip / np.linalg.norm(rows, axis=1))
    clipped = rows * left[:, None]
    kept = kept_by(clipped.T @ clipped / len(rows), NO_NOISE, clip, 0.0 * ONE, ONE)
    assert kept.length[0] == pytest.approx(left.mean(), abs=0.04)
    assert kept.square[0] == pytest.approx((clipped**2).sum() / (rows**2).sum(), abs=0.06)


@pytest.mark.parametrize("q", [30, 150])
@pytest.mark.parametrize("variance", [1.0, 2.0])
def test_slices_that_lie_far_out_lose_as_much_as_they_do(q, variance):
    rng = np.random.default_rng(0)
    clip = 1.5 * q**0.5
    shares = np.array([0.5, 0.3, 0.2])
    shifts = np.array([0.0, 0.8, 2.0]) * clip  # along different axes
    slices = [
        shift * np.eye(q)[h] + variance**0.5 * rng.normal(size=(4000, q))
        for h, shift in enumerate(shifts)
    ]
    clipped = [after(rows, clip) for rows in slices]
    second = sum(s * rows.T @ rows / len(rows) for s, rows in zip(shares, clipped, strict=True))
    means = np.array([np.linalg.norm(rows.mean(axis=0)) for rows in clipped])
    kept = kept_by(second, NO_NOISE, clip, means, shares)
    assert means / kept.length == pytest.approx(shifts, rel=0.06, abs=0.06 * clip)
    squares = [(a**2).sum() / (b**2).sum() for a, b in zip(clipped, slices, strict=True)]
    assert kept.square == pytest.approx(squares, abs=0.06)


def test_a_mean_that_noise_has_made_longer_than_the_clip_is_no_error():
    kept = kept_by(9.0 * np.eye(4), NO_NOISE, 6.0, np.array([0.0, 1.0, 600.0]), np.full(3, 1 / 3))
    assert kept.length[0] > kept.length[1] > kept.length[2] > 0.0


def test_a_second_moment_that_is_all_noise_gives_nothing_back():
    wild = Levels(sums=1.0, counts=1.0, diagonal=1e6, off_diagonal=5e5)
    second = np.eye(10) * 20.0
    assert kept_by(second, wild, 5.0, 0.0 * ONE, ONE).length[0] > 0.95


def test_only_a_share_of_it_may_be_given_back():
    kept = Kept(np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.2, 0.2]))
    some = kept.towards_one(np.array([0.0, 1.0, 0.5]))
    assert some.length == pytest.approx([1.0, 0.5, 0.75])
    assert some.square == pytest.approx([1.0, 0.2, 0.6])
