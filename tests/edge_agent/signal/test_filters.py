"""The filters have the gain of the Butterworth filter, no delay, and no memory of other samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from edge_agent.signal.filters import butterworth_gain, low_pass, median_of_three


@pytest.mark.parametrize("cutoff", [0.3, 5.0, 20.0])
@pytest.mark.parametrize("order", [1, 3])
def test_the_gain_is_that_of_the_digital_filter(cutoff, order):
    frequency = np.linspace(0, 24.9, 200)
    b, a = scipy.signal.butter(order, cutoff, fs=50)
    _, response = scipy.signal.freqz(b, a, worN=frequency, fs=50)
    gain = butterworth_gain(frequency, cutoff, 50, order)
    np.testing.assert_allclose(gain, np.abs(response), atol=1e-9)


@pytest.mark.parametrize("length", [128, 192])
def test_it_is_the_zero_phase_filter_of_the_mirrored_signal(length):
    x = np.random.default_rng(1).normal(size=length)
    mirrored = np.concatenate([x, x[::-1]])
    gain = butterworth_gain(np.fft.rfftfreq(2 * length, 1 / 50), 20.0, 50)
    expected = np.fft.irfft(gain * np.fft.rfft(mirrored))[:length]
    np.testing.assert_allclose(low_pass(length, 20.0, 50) @ x, expected, atol=1e-12)


def test_a_constant_passes_and_time_reversal_commutes():
    matrix = low_pass(128, 0.3, 50)
    np.testing.assert_allclose(matrix.sum(1), 1)
    np.testing.assert_allclose(matrix, matrix[::-1, ::-1], atol=1e-15)


def test_steps_at_two_hertz_leave_gravity_alone():
    t = np.arange(128) / 50
    signal = 0.8 + 0.5 * np.sin(2 * np.pi * 2 * t + 1)
    assert np.abs(low_pass(128, 0.3, 50) @ signal - signal.mean()).max() < 0.05


@pytest.mark.parametrize("cutoff", [0.0, 25.0, -1.0])
def test_a_cutoff_that_the_rate_cannot_carry_is_refused(cutoff):
    with pytest.raises(ValueError, match="cutoff"):
        low_pass(128, cutoff, 50)


def test_the_median_of_three_removes_a_spike_and_keeps_the_ends():
    x = np.random.default_rng(2).normal(size=(40, 3))
    np.testing.assert_array_equal(median_of_three(x)[1:-1], scipy.signal.medfilt(x, (3, 1))[1:-1])
    np.testing.assert_array_equal(median_of_three(x)[[0, -1]], x[[0, -1]])
    spike = np.ones((9, 1))
    spike[4] = 100
    np.testing.assert_array_equal(median_of_three(spike), np.ones((9, 1)))
    with pytest.raises(ValueError, match="at least 3"):
        median_of_three(np.ones((2, 1)))
