"""A shift is believed as far as noise cannot have made it."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.public.shifts import shrunk, variances_tried

TRIED = variances_tried(50.0)


def test_what_may_be_tried_goes_from_the_samples_own_error_to_strangers():
    assert TRIED[0] == pytest.approx(1 / 50)
    assert TRIED[-1] == pytest.approx(1.0)
    assert (np.diff(TRIED) > 0).all()


@pytest.mark.parametrize("noise", [0.02, 0.3, 3.0, 100.0])
def test_it_is_closer_to_the_truth_than_the_sample_or_the_report(noise):
    rng = np.random.default_rng(0)
    q = 40
    t = np.exp(rng.uniform(np.log(TRIED[0]), np.log(TRIED[-1]), 600))
    truth = np.sqrt(t)[:, None] * rng.normal(size=(600, q))
    seen = truth + noise**0.5 * rng.normal(size=truth.shape)
    found = [shrunk(row, noise, TRIED) for row in seen]
    errors = [((f.shift - true) ** 2).mean() for f, true in zip(found, truth, strict=True)]
    known = np.mean(t * noise / (t + noise))  # the error of whoever knows how strange each one is
    assert np.mean(errors) < min(t.mean(), noise)
    assert np.mean(errors) < 1.15 * known + 0.005
    # ... and it says how large its error is.
    assert np.mean([f.variance for f in found]) == pytest.approx(np.mean(errors), rel=0.15)


def test_noise_alone_is_not_believed():
    rng = np.random.default_rng(1)
    for noise in (10.0, 1e3, 1e6):
        found = [shrunk(noise**0.5 * rng.normal(size=30), noise, TRIED) for _ in range(200)]
        lengths = [np.linalg.norm(f.shift) for f in found]
        # An honest James-Stein factor would leave lengths that grow with the noise.
        assert np.mean(lengths) < 2.0


def test_the_strangeness_of_a_shift_is_found():
    rng = np.random.default_rng(2)
    for t in (0.05, 0.5):
        found = shrunk(t**0.5 * rng.normal(size=400), 0.01, TRIED)
        assert found.strangeness == pytest.approx(t, rel=0.25)
