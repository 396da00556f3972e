"""What dating on arrival costs, and why a phone that measures slowly is refused.

The same motion is seen twice: by a sensor that dates its 50 samples a second, and by a phone that
prints its last reading every 10.6 ms, of which each is dated when it arrives, 2 ms later on
average. How far apart are the scaled features?
"""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.signal.features import features, scale
from edge_agent.sources.termux.watcher import FEWEST_CHANGES
from tests.edge_agent.motion import BEGIN, run

SECONDS = 40


def motion(times, seed):
    """Acceleration in g and rotation in rad/s at any time, with the noise of a phone's sensor."""
    rng = np.random.default_rng(seed)
    phase = 2 * np.pi * 1.9 * (times - BEGIN)[:, None]
    lag = np.arange(3)
    step = [0.2, 0.1, 0.15] * np.sin(phase + lag)
    impact = [0.05, 0.04, 0.06] * np.sin(3.7 * phase + lag) + 0.02 * np.sin(6 * phase)
    acc = np.array([0.9, -0.2, 0.3]) + step + impact + rng.normal(0, 0.01, (len(times), 3))
    gyro = [0.5, 0.8, 0.3] * np.sin(phase / 2 - lag) + [0.1, 0.2, 0.1] * np.sin(4 * phase)
    return acc, gyro + rng.normal(0, 0.02, (len(times), 3))


def dated(seed):
    """Features by window, of a sensor that dates its samples."""
    times = BEGIN + (np.arange(SECONDS * 50) + 0.5) / 50
    return features_of(times, *motion(times, seed))


def printed(rate, seed=1):
    """The same of a phone that gives so many readings a second."""
    rng = np.random.default_rng(seed)
    measured = BEGIN + (np.arange(SECONDS * rate) + 0.3) / rate
    acc, gyro = motion(measured, seed)
    prints = BEGIN + 0.1 + np.cumsum(rng.uniform(0.0101, 0.0112, int(SECONDS / 0.0112)))
    last = np.searchsorted(measured, prints, side="right") - 1
    arrived = np.sort(prints + rng.exponential(0.002, len(prints)))
    return features_of(arrived, acc[last], gyro[last])


def features_of(times, acc, gyro):
    windows, _ = run(times, acc, gyro, acc_range=8.0, gyro_range=35.0)
    good = [window for window in windows if not window.fault]
    rows = scale(features(np.stack([window.signals for window in good])))
    return {window.index: row for window, row in zip(good, rows, strict=True)}


def distance(one, two):
    """Mean absolute difference of features between -1 and 1, over the windows of both."""
    common = sorted(one.keys() & two.keys())
    assert len(common) > 20
    return float(np.mean([np.abs(one[k] - two[k]).mean() for k in common]))


@pytest.mark.parametrize(
    ("rate", "expected"), [(15, 0.087), (26, 0.065), (50, 0.031), (100, 0.026)]
)
def test_how_far_off_features_are(rate, expected):
    """The figures of docs/termux.md; other noise alone makes 0.021."""
    assert distance(dated(2), dated(3)) == pytest.approx(0.021, abs=0.003)
    assert distance(printed(rate), dated(2)) == pytest.approx(expected, abs=0.006)
    assert (rate >= FEWEST_CHANGES) == (expected < 2 * 0.021)
