"""The 561 features: named and defined as the published set has them.

Finite always, and scaled by public ranges.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.signal import statistics as stat
from edge_agent.signal.features import CHANNELS, FEATURE_NAMES, features, scale

COLUMN = {name: i for i, name in enumerate(FEATURE_NAMES)}


def noise(m=3, n=128, seed=0):
    return np.random.default_rng(seed).normal(0, 0.3, (m, 9, n))


def test_names_are_561_and_unique():
    assert len(set(FEATURE_NAMES)) == len(FEATURE_NAMES) == 561
    assert FEATURE_NAMES[0] == "tBodyAcc-mean()-X"
    assert FEATURE_NAMES[302] == "fBodyAcc-bandsEnergy()-1,8-X"
    assert FEATURE_NAMES[-1] == "angle(Z,gravityMean)"


@pytest.mark.data
def test_names_are_those_of_the_published_list(data_dir):
    lines = (data_dir / "uci_har/text/features.txt").read_text().split("\n")
    published = [line.split(maxsplit=1)[1] for line in lines if line.strip()]
    seen: Counter[str] = Counter()
    unique = []
    for name in published:
        unique.append(f"{name}-{'XYZ'[seen[name]]}" if "bandsEnergy" in name else name)
        seen[name] += 1
    assert tuple(unique) == FEATURE_NAMES


def test_a_sine_has_the_statistics_of_a_sine():
    signals = np.zeros((1, 9, 129))
    t = np.arange(129)
    signals[0, 0] = 0.5 * np.sin(2 * np.pi * 5 * t / 128)
    signals[0, 6:9] = signals[0, 0:3] + np.array([[0.0], [0.6], [0.8]])
    row = features(signals)[0]
    expected = {
        "tBodyAcc-mean()-X": 0,
        "tBodyAcc-max()-X": np.abs(signals[0, 0]).max(),
        "tBodyAcc-energy()-X": 0.125,
        "tBodyAcc-std()-X": np.sqrt(0.125 * 128 / 127),
        "tBodyAccMag-mean()": np.abs(signals[0, 0, :128]).mean(),
        "tGravityAcc-mean()-Y": 0.6,
        "tGravityAcc-sma()": 1.4,
        "fBodyAcc-max()-X": 0.5,
        "fBodyAcc-maxInds-X": 4,
        "fBodyAcc-meanFreq()-X": 4,
        "fBodyAcc-bandsEnergy()-1,8-X": 0.25,
        "fBodyAcc-bandsEnergy()-9,16-X": 0,
        "tBodyAccJerk-energy()-X": 0.125 * 4 * np.sin(np.pi * 5 / 128) ** 2,
        "angle(X,gravityMean)": np.pi / 2,
        "angle(Z,gravityMean)": np.arccos(0.8),
    }
    for name, value in expected.items():
        assert row[COLUMN[name]] == pytest.approx(value, abs=1e-9), name


def test_the_follower_is_seen_by_the_jerk_alone():
    signals = noise(n=129)
    hits = (features(signals) != features(signals[..., :128])).any(0)
    differ = {name for name, hit in zip(FEATURE_NAMES, hits, strict=True) if hit}
    assert differ
    assert all("Jerk" in name for name in differ)


def test_statistics_agree_with_plain_definitions():
    x = np.random.default_rng(4).normal(0.2, 0.4, (5, 128))
    spread = np.subtract(*np.quantile(x, [0.75, 0.25], axis=-1, method="hazen"))
    np.testing.assert_allclose(stat.interquartile_range(x), spread)
    levels = np.round(np.clip(x, 0, 1) * 255).astype(int)
    shares = [np.unique(row, return_counts=True)[1] / 128 for row in levels]
    np.testing.assert_allclose(stat.grey_entropy(x), [-(p * np.log2(p)).sum() for p in shares])
    np.testing.assert_allclose(
        stat.correlations(x[None], ((0, 1), (2, 4)))[0], np.corrcoef(x)[[0, 2], [1, 4]]
    )
    with pytest.raises(ValueError, match="multiple of 4"):
        stat.interquartile_range(x[:, :50])


def test_burg_finds_the_coefficients_of_a_process():
    truth = np.array([1.0, -1.2, 0.9, -0.3, 0.1])
    x = scipy.signal.lfilter([1.0], truth, np.random.default_rng(5).normal(size=40_000))
    np.testing.assert_allclose(stat.burg(x, 4), truth[1:], atol=0.02)


def test_a_window_gives_the_same_bits_alone_and_in_a_batch():
    signals = noise(m=70)
    alone = np.concatenate([features(window[None]) for window in signals])
    np.testing.assert_array_equal(alone, features(signals))


def test_a_window_gives_the_same_bits_however_its_signals_lie_in_memory():
    signals = noise(m=20)
    sample_by_sample = np.ascontiguousarray(signals.transpose(0, 2, 1)).transpose(0, 2, 1)
    for other in (np.asfortranarray(signals), sample_by_sample):
        np.testing.assert_array_equal(features(other), features(signals))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 1e6]),
    st.sampled_from(["constant", "noise", "one spike", "one axis"]),
    st.integers(0, 99),
)
def test_features_are_finite_and_scaled_ones_bounded_for_any_signal(size, kind, seed):
    signals = np.zeros((1, 9, 128))
    if kind == "constant":
        signals += size
    elif kind == "noise":
        signals = size * noise(1, seed=seed)
    elif kind == "one spike":
        signals[0, seed % 9, seed] = size
    else:
        signals[0, seed % 9] = size * noise(1, seed=seed)[0, 0]
    row = features(signals)
    assert np.isfinite(row).all()
    assert np.abs(scale(row)).max() <= 1


def test_scaling_keeps_the_order_of_values():
    rows = np.sort(np.abs(features(noise(40))), axis=0)
    assert (np.diff(scale(rows), axis=0) >= 0).all()


def test_misuse_is_refused_with_the_shape():
    with pytest.raises(ValueError, match=r"\(2, 6, 128\)"):
        features(np.zeros((2, 6, 128)))
    with pytest.raises(ValueError, match="561"):
        scale(np.zeros((2, 560)))


def filtered_gravity(total, body):
    """Gravity in the given channels, by the set's own low-pass filter of the total acceleration.

    The set gives the total and the body acceleration, with seven digits. Their difference is
    gravity plus a rounding error, and autoregression of so smooth a signal amplifies that error a
    thousandfold. But gravity was made by the causal Butterworth filter of order 3 at 0.3 Hz, so the
    total acceleration tells it, save for three numbers per window: the state in which the filter
    enters it. The body acceleration tells those. No sample moves by as much as a unit in the
    seventh digit of 1 g.
    """
    b, a = scipy.signal.butter(3, 0.3, fs=50)
    silence = np.zeros(128)
    states = [scipy.signal.lfilter(b, a, silence, zi=state)[0] for state in np.eye(3)]
    basis, _ = np.linalg.qr(np.stack(states, axis=1))
    driven = scipy.signal.lfilter(b, a, total)
    gravity = driven + ((total - body - driven) @ basis) @ basis.T
    assert np.abs(gravity - (total - body)).max() < 1e-6
    return gravity


@pytest.fixture(scope="module")
def published(data_dir):
    """Windows whose following sample is in the set too (in the next window), and their features."""
    with np.load(data_dir / "uci_har/har_inertial.npz") as file:
        signals = file["S"].astype(np.float64)
        assert tuple(file["channels"]) == CHANNELS
    with np.load(data_dir / "uci_har/har_full561.npz") as file:
        columns = file["X"].astype(np.float64)
    followed = np.flatnonzero((signals[1:, :, :64] == signals[:-1, :, 64:]).all(axis=(1, 2)))
    assert len(followed) == 9442
    extended = np.concatenate([signals[followed], signals[followed + 1][..., 64:65]], axis=-1)
    return extended, columns[followed]


def published_error(signals, columns):
    """Largest difference per column in the published scale.

    The scale of a column is unknown but affine: it is taken from the windows of its smallest and
    its largest value, here and nowhere else.
    """
    ours = features(signals)
    low = (ours.argmin(0), np.arange(ours.shape[1]))
    high = (ours.argmax(0), np.arange(ours.shape[1]))
    slope = (columns[high] - columns[low]) / (ours[high] - ours[low])
    return np.abs(columns[low] + slope * (ours - ours[low]) - columns).max(0)


GRAVITY_AR = {f"tGravityAcc-arCoeff()-{axis},{k}" for axis in "XYZ" for k in (1, 2, 3, 4)}


@pytest.mark.data
def test_features_agree_with_the_published_ones(published):
    signals, columns = published
    body = signals[:, :3, :128]
    total = signals[:, 6:, :128]
    signals = signals.copy()
    signals[:, 6:, :128] = body + filtered_gravity(total, body)
    error = published_error(signals, columns)
    assert (error[:265] < 0.01).sum() >= 264
    assert (error < 0.02).all()
    # What is left are single windows with a value on the border of two grey levels.
    assert {FEATURE_NAMES[i].split("-")[1] for i in np.flatnonzero(error >= 0.001)} == {"entropy()"}


@pytest.mark.long
@pytest.mark.data
def test_the_bare_difference_of_the_channels_loses_the_autoregression_of_gravity_alone(published):
    error = published_error(*published)
    assert (error[:265] < 0.01).sum() >= 251
    assert {FEATURE_NAMES[i] for i in np.flatnonzero(error >= 0.02)} == GRAVITY_AR
