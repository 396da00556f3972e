"""Features come on one scale, and none that hardly varies drowns out the others."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.proposal.standard import standard


def test_centre_and_scale_are_those_of_the_sample():
    X = np.random.default_rng(0).normal(size=(2000, 4)) * 3.0 + [0, 10, -20, 1e6]
    found = standard(X)
    assert found.centre == pytest.approx(X.mean(axis=0), rel=1e-3, abs=1e-3)
    assert found.scale == pytest.approx(np.full(4, 3.0 * 2**0.5), rel=0.05)
    assert found.apply(X)[:, :3].mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-3)


def test_what_hardly_varies_stays_small():
    X = np.random.default_rng(0).normal(size=(500, 5)) * [1, 1, 1, 1, 1e-6]
    assert standard(X).apply(X)[:, 4].std() < 1e-5
