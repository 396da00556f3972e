"""The covariance within slices: the sample's, unless reports plainly say otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.public.within import whitening_of, within_slices


def symmetric_noise(q, variance, rng):
    A = rng.normal(size=(q, q)) * variance**0.5
    upper = np.triu(A, 1)
    return upper + upper.T + np.diag(np.diag(A)) * 2.0**0.5


def test_without_noise_it_is_what_is_reported():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 40))
    spread = A @ A.T / 40 + 0.3 * np.eye(6)
    assert within_slices(spread, 0.0) == pytest.approx(spread)


@pytest.mark.parametrize("q", [3, 20, 90])
@pytest.mark.parametrize("noise", [0.1, 10.0, 1e4])
def test_noise_alone_leaves_the_sample_alone(q, noise):
    rng = np.random.default_rng(1)
    far = []
    for _ in range(20):
        spread = np.eye(q) + symmetric_noise(q, noise, rng)
        far.append(np.linalg.norm(within_slices(spread, noise) - np.eye(q)))
    # The noise itself is this large: what is taken over is a small part of it.
    assert np.mean(far) < 0.2 * (q * (q + 1) * noise) ** 0.5


def test_a_direction_that_stands_out_is_found_through_the_noise():
    rng = np.random.default_rng(2)
    q = 40
    noise = 0.25
    u = rng.normal(size=q)
    u /= np.linalg.norm(u)
    spread = np.eye(q) + 30.0 * np.outer(u, u) + symmetric_noise(q, noise, rng)
    found = within_slices(spread, noise)
    assert 20.0 < u @ found @ u < 32.0
    assert np.linalg.eigvalsh(found)[-2] < 6.0


def test_no_variance_is_taken_for_nothing():
    rng = np.random.default_rng(3)
    for noise in (0.0, 0.01, 5.0):
        spread = symmetric_noise(12, 4.0, rng)
        assert np.linalg.eigvalsh(within_slices(spread, noise))[0] >= 0.05 - 1e-9


def test_whitening_makes_it_the_identity():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(2, 5, 30))
    within = A @ A.swapaxes(-1, -2) / 30
    R = whitening_of(within)
    assert R @ within @ R == pytest.approx(np.broadcast_to(np.eye(5), (2, 5, 5)))


@pytest.mark.parametrize("q", [1, 2, 4])
def test_with_few_coordinates_luck_is_not_taken_for_a_finding(q):
    rng = np.random.default_rng(5)
    for noise in (4.0, 1e4):
        draws = [np.eye(q) + symmetric_noise(q, noise, rng) for _ in range(1000)]
        moved = [np.abs(within_slices(spread, noise) - np.eye(q)).max() for spread in draws]
        assert np.mean(np.array(moved) > 0.3 * noise**0.5) < 0.03
