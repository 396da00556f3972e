"""Statistics of signals along their last axis, as the UCI set defines them.

The definitions were found by comparison with its columns.
Every one is finite for a constant signal, and gives a row the same bits whether it comes alone or
in a batch.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix

GREY_LEVELS = 256
# Shorter vectors (g, rad/s) are rounding errors: the mean of a body acceleration from which the
# filter took its mean.
NO_LENGTH = 1e-9


def divide(a: Matrix, b: Matrix) -> Matrix:
    """a / b, and 0 where b is 0: a signal that does not move has no shape and no direction."""
    ratio: Matrix = np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b != 0)
    return ratio


def interquartile_range(x: Matrix) -> Matrix:
    """Matlab's: sample i of n (counted from 1) is the quantile (i - 1/2) / n.

    n must be a multiple of four.

    >>> float(interquartile_range(np.arange(8.0)))
    4.0
    """
    quarter, rest = divmod(x.shape[-1], 4)
    if rest:
        raise ValueError(f"the quartiles need a multiple of 4 samples, received {x.shape[-1]}")
    places = (quarter - 1, quarter, 3 * quarter - 1, 3 * quarter)
    ordered = np.sort(np.ascontiguousarray(x))  # several times as fast as `np.partition`
    low, low_next, high, high_next = (ordered[..., place] for place in places)
    spread: Matrix = (high + high_next) / 2 - (low + low_next) / 2
    return spread


def grey_entropy(x: Matrix) -> Matrix:
    """Entropy (bits) of the signal read as a grey-scale image: clipped to 0..1, then 256 levels.

    Odd for a signal, since all that is negative becomes black, but it is what the set contains.
    """
    n = x.shape[-1]
    levels = np.floor(np.clip(x, 0, 1) * (GREY_LEVELS - 1) + 0.5).astype(np.intp).reshape(-1, n)
    levels += GREY_LEVELS * np.arange(len(levels))[:, None]
    counts = np.bincount(levels.ravel(), minlength=GREY_LEVELS * len(levels))
    share = np.arange(1, n + 1) / n
    surprise = np.concatenate([[0.0], -share * np.log2(share)])
    surprises = surprise[counts.reshape(len(levels), GREY_LEVELS)]
    entropy: Matrix = surprises.sum(-1).reshape(x.shape[:-1])
    return entropy


def burg(x: Matrix, order: int) -> Matrix:
    """Coefficients a_1..a_order of the autoregression `x_t + sum_k a_k x_(t-k) = e_t`.

    By Burg's method; x is not centred.
    """
    a = np.zeros((*x.shape[:-1], order + 1))
    a[..., 0] = 1
    forward = x[..., 1:]
    backward = x[..., :-1]
    for k in range(1, order + 1):
        power = (forward * forward).sum(-1) + (backward * backward).sum(-1)
        reflection = divide(-2 * (forward * backward).sum(-1), power)[..., None]
        a[..., : k + 1] += reflection * a[..., k::-1]
        if k < order:
            ahead = forward + reflection * backward
            backward = (backward + reflection * forward)[..., :-1]
            forward = ahead[..., 1:]
    return a[..., 1:]


def skewness_and_kurtosis(x: Matrix) -> Matrix:
    """Standardised third and fourth moments (n in the denominator), stacked on a new last axis."""
    centred = x - x.mean(-1, keepdims=True)
    square = centred * centred
    variance = square.mean(-1)
    third = (square * centred).mean(-1)
    fourth = (square * square).mean(-1)
    return np.stack([divide(third, variance**1.5), divide(fourth, variance**2)], axis=-1)


def correlations(x: Matrix, pairs: tuple[tuple[int, int], ...]) -> Matrix:
    """Pearson correlation of the given pairs of rows (axis -2), stacked on the last axis."""
    centred = x - x.mean(-1, keepdims=True)
    norm = np.sqrt((centred * centred).sum(-1))
    columns = [
        divide((centred[..., i, :] * centred[..., j, :]).sum(-1), norm[..., i] * norm[..., j])
        for i, j in pairs
    ]
    return np.stack(columns, axis=-1)


def angle(u: Matrix, v: Matrix) -> Matrix:
    """Angle (radians) of vectors along the last axis; a right angle where one has no direction."""
    lengths = [np.sqrt((w * w).sum(-1)) for w in (u, v)]
    product = np.where(np.minimum(*lengths) > NO_LENGTH, lengths[0] * lengths[1], 0.0)
    radians: Matrix = np.arccos(np.clip(divide((u * v).sum(-1), product), -1, 1))
    return radians
