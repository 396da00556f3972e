"""The controls' sliced inverse regression is the textbook's."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.subspace import projection_loss
from sim_devices.scenarios import sir


def test_it_finds_the_direction_of_correlated_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)) @ rng.normal(size=(4, 4))
    X = np.column_stack([X, X[:, 0]])  # a copy tells nothing new and must not do harm
    truth = np.array([[1.0], [-2.0], [0.0], [0.5]])
    y = X[:, :4] @ truth[:, 0] + 0.1 * rng.normal(size=len(X))
    slices = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
    assert projection_loss(sir.plain(X[:, :4], slices, 1), truth) < 0.02
    assert sir.explained(X @ sir.plain(X, slices, 1), y) > 0.99


def test_explained_is_the_square_of_a_correlation():
    rng = np.random.default_rng(1)
    z = rng.normal(size=500)
    y = 2.0 * z + rng.normal(size=500) + 7.0
    expected = np.corrcoef(z, y)[0, 1] ** 2
    assert sir.explained(z[:, None], y) == pytest.approx(expected, rel=1e-9)
