"""How sure each loading is, from the one number that the message has about it.

The expected error L is the expected projection loss of the space: `L^2 = 2 sum_k sin^2 a_k` over
the d angles between the estimated and the true space, so that `sin a = L / sqrt(2 d)` is a typical
one. A direction of unit length is then off by `sin a`, at right angles to the estimated space.
Where to, the message does not say. If every way is as likely as any other, coordinate j of the
error has the variance `sin^2 a (1 - q_j^2) / (p - d)`, where q_j is the length of the j-th row of
an orthonormal basis. Turns inside the space are no error: it is the space that was estimated.
"""

from __future__ import annotations

import math

import numpy as np

from fsir.arrays import Matrix


def unit_length(basis: Matrix) -> Matrix:
    """The directions, each divided by its length."""
    return np.asarray(basis / np.linalg.norm(basis, axis=0))


def sine(expected_error: float, d: int) -> float:
    """The sine of a typical angle between the estimated and the true space of d directions.

    >>> sine(2**0.5, 1), sine(0.0, 3)
    (1.0, 0.0)
    """
    return min(expected_error / math.sqrt(2.0 * d), 1.0)


def loading_sd(basis: Matrix, expected_error: float) -> Matrix:
    """The standard deviation of each feature's loading, of directions of unit length."""
    p, d = basis.shape
    if p == d:
        return np.zeros(p)  # the whole space, which cannot be missed
    Q = np.linalg.qr(basis)[0]
    outside = np.maximum(1.0 - (Q * Q).sum(axis=1), 0.0)
    return np.asarray(sine(expected_error, d) * np.sqrt(outside / (p - d)))
