"""The covariance can be inverted, is untouched without noise, and knows its noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsir.estimate.covariance import Levels, between, centred, covariance, trimmed, within

SILENT = Levels(0.0, 0.0, 0.0, 0.0)


def test_the_covariance_is_positive_definite_and_untouched_without_noise():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 6))
    shares = np.full(3, 1 / 3)
    G = rng.standard_normal((6, 3)) / 20
    exact = centred(G, shares, X.T @ X / 50, 50, SILENT)
    np.testing.assert_allclose(covariance(exact), exact.Sigma, atol=1e-12)
    np.testing.assert_allclose(within(exact) + between(exact), exact.Sigma, atol=1e-12)
    for size in (1e-3, 0.1, 1.0, 10.0):
        E = rng.standard_normal((6, 6)) * size
        noisy = replace(
            exact, Sigma=exact.Sigma + E + E.T, levels=Levels(0.0, 0.0, 4 * size**2, 2 * size**2)
        )
        for repaired in (covariance(noisy), within(noisy)):
            assert np.linalg.eigvalsh(repaired)[0] > 0
            assert np.isfinite(repaired).all()


def test_the_known_noise_is_that_of_the_sum_unless_something_is_cut_off():
    levels = Levels(1e-3, 2e-3, 3e-3, 4e-3)
    T = np.eye(4)
    assert trimmed(levels, T, 3, 1000, 1.0) == levels
    more = trimmed(levels, T, 3, 1000, 1.2)
    assert more.sums == pytest.approx(1.2e-3 + 0.2 / 3000)
    assert more.counts == pytest.approx(2.4e-3 + 0.2 * 2 / 9000)
    assert more.diagonal == pytest.approx(3.6e-3 + 0.4 / 1000)
    assert more.off_diagonal == pytest.approx(4.8e-3 + 0.2 / 1000)
