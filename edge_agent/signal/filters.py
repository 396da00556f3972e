"""The filters of one window: median of three, and Butterworth low-pass filters of finite support.

A recursive filter remembers every sample since it was started, so one sample would touch every
later window and the privacy unit would have no end. Here a filter sees only the samples of its own
window (and of its public margin): these are continued by mirror images on both sides, for ever, and
the filter is applied to that continuation without delay. On a mirrored signal of n samples a
zero-phase filter is diagonal in the cosine basis (DCT-II), whose k-th vector has the frequency `k *
rate / (2 n)`. So the whole filter is one n x n matrix, with the exact gain of the digital
Butterworth filter at each of these frequencies, and no start-up transient. Mirror images, not point
reflections: an edge that happens to fall on the peak of a step must not tilt the estimate of
gravity.

At 0.3 Hz a window of 2.56 s is shorter than one period. What the filter then keeps is the mean,
nearly all (0.96) of the half cosine over the window at 0.195 Hz, 0.41 of the full cosine at 0.39
Hz, and little beyond: a mean and a slow drift, which is what one window can know about gravity. A
margin sharpens it, at the price of a larger privacy unit.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix


def butterworth_gain(frequency: Matrix, cutoff: float, rate: float, order: int = 3) -> Matrix:
    """Amplitude gain of the digital Butterworth low-pass filter.

    By the bilinear transform, with the cutoff prewarped.
    """
    if not 0 < cutoff < rate / 2:
        raise ValueError(
            f"cutoff {cutoff} Hz is not between 0 and half of the rate ({rate / 2} Hz)"
        )
    # At half of the rate the tangent is infinite and the gain 0; the clip keeps its power finite.
    half_turn = np.clip(np.pi * np.asarray(frequency) / rate, 0, np.pi / 2 - 1e-9)
    ratio = np.tan(half_turn) / np.tan(np.pi * cutoff / rate)
    gain: Matrix = 1 / np.sqrt(1 + ratio ** (2 * order))
    return gain


def low_pass(length: int, cutoff: float, rate: float, order: int = 3) -> Matrix:
    """The zero-phase filter of `length` samples as a matrix: `low_pass(...) @ x`.

    Its amplitude is that of one pass of the filter: the published features were made with one
    (causal) pass.
    """
    k = np.arange(length)
    gain = butterworth_gain(k * rate / (2 * length), cutoff, rate, order)
    weight = np.sqrt(gain * 2 / length)
    weight[0] /= np.sqrt(2)
    # In place, since on a device these squares are most of the memory that the pipeline needs.
    basis = np.outer(k, (k + 0.5) * (np.pi / length))
    np.cos(basis, out=basis)
    basis *= weight[:, None]
    matrix: Matrix = basis.T @ basis
    return matrix


def median_of_three(x: Matrix) -> Matrix:
    """Running median of three samples, the rows of x (axis -2); the two ends keep their values.

    >>> median_of_three(np.array([[0.0], [9.0], [1.0], [2.0]])).ravel().tolist()
    [0.0, 1.0, 2.0, 2.0]
    """
    if x.shape[-2] < 3:
        raise ValueError(
            f"a running median of three needs at least 3 samples, received {x.shape[-2]}"
        )
    before = x[..., :-2, :]
    here = x[..., 1:-1, :]
    after = x[..., 2:, :]
    lower = np.minimum(before, here)
    upper = np.maximum(before, here)
    out = x.copy()
    out[..., 1:-1, :] = np.maximum(lower, np.minimum(upper, after))
    return out
