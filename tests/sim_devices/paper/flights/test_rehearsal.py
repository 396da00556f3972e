"""Features and clip from a public sample."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.contract import task_from_table
from fsir.task.task import Task
from sim_devices.paper.flights.rehearsal import Design, Fleet, best_clip, rehearse, uncorrelated


def make(norm: float) -> Task:
    return task_from_table(
        {
            "name": "rehearsed",
            "features": {"names": ["a", "b", "c"]},
            "response": {"cuts": [-0.5, 0.5]},
            "clip": {"truncate": norm, "norm": norm},
            "privacy": {"epsilon": 1.0, "delta": 1e-6},
            "report": {"records": 1000},
            "dimension": 1,
        }
    )


def sample(tailed: bool = False, n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Responses follow the sum of the first two features; the second one may have long tails."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, 3))
    if tailed:
        X[:, 1] = 0.5 * rng.standard_t(3, n)
    return X, X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n)


def test_features_are_uncorrelated_of_variance_one_and_mean_zero():
    X = np.random.default_rng(1).standard_normal((500, 3)) @ np.array(
        [[1.0, 2.0, 0.0], [0.0, 1.0, 0.01], [3, 0, 1]]
    )
    Z = Design(*uncorrelated(X), norm=1.0).features(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)


def test_features_that_are_uncorrelated_stay_as_they_are():
    Z = np.random.default_rng(1).standard_normal((500, 3))
    Z = Design(*uncorrelated(Z), norm=1.0).features(Z)
    np.testing.assert_allclose(uncorrelated(Z)[0], np.eye(3), atol=1e-9)


def test_a_constant_does_no_harm():
    X = np.column_stack([np.random.default_rng(1).standard_normal((500, 2)), np.full(500, 4.0)])
    assert np.isfinite(Design(*uncorrelated(X), norm=1.0).features(X)).all()


def test_more_devices_come_closer():
    X, y = sample()
    few, many = (rehearse(make(2.0), X, y, Fleet(devices, 1000)) for devices in (1, 100))
    assert many < few


def test_long_tails_call_for_a_larger_clip_and_noise_for_a_smaller_one():
    plain = sample()
    tailed = sample(tailed=True)
    large = Fleet(1000, 1000)
    small = Fleet(1, 200)
    assert best_clip(make, *tailed, large) > best_clip(make, *plain, large)
    assert best_clip(make, *tailed, small) < best_clip(make, *tailed, large)


@pytest.mark.parametrize("tailed", [False, True])
def test_the_clip_taken_is_the_best_of_the_grid(tailed):
    X, y = sample(tailed)
    fleet = Fleet(30, 1000)
    best = best_clip(make, X, y, fleet)
    assert rehearse(make(best), X, y, fleet) <= rehearse(make(2.0 * best), X, y, fleet)
    assert rehearse(make(best), X, y, fleet) <= rehearse(make(0.5 * best), X, y, fleet)
