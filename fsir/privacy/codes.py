"""Response codes: unit vectors that stand for slices, so that fewer sums tell them apart."""

from __future__ import annotations

import math

import numpy as np

from fsir.arrays import Matrix

CODE_UNIT = 1024  # response codes are whole multiples of 1/1024

Code = tuple[tuple[int, ...], ...]  # slices x columns, in units of 1/CODE_UNIT


def response_code(kind: str, H: int) -> Code:
    """The code of `H` slices, rounded toward zero (so that no norm exceeds 1).

    It is empty for the kind `slices`, which has one column per slice.

    >>> response_code("circle", 4)
    ((723, 723), (-723, 723), (-723, -723), (723, -723))
    """
    if kind == "slices":
        return ()
    vectors = _circle(H) if kind == "circle" else _simplex(H)
    # Half a unit short of 1, so that no corner sits on a rounding edge where machines could differ.
    return tuple(tuple(int(v) for v in row) for row in np.trunc(vectors * (CODE_UNIT - 0.5)))


def _circle(H: int) -> Matrix:
    angles = 2.0 * np.pi * (np.arange(H) + 0.5) / H
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _simplex(H: int) -> Matrix:
    """The corners of a regular simplex around 0, in Helmert's coordinates."""
    rows = [[1.0] * h + [-float(h)] + [0.0] * (H - h - 1) for h in range(1, H)]
    helmert = np.array([np.array(row) / math.sqrt(sum(v * v for v in row)) for row in rows])
    corners: Matrix = helmert.T * math.sqrt(H / (H - 1))
    return corners
