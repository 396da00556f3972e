"""From resampled readings to the nine signals of a window: noise off, gravity apart from motion."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from edge_agent.signal.filters import low_pass, median_of_three
from edge_agent.signal.grid import RATE, WINDOW
from fsir.arrays import Matrix

NOISE_CUTOFF_HZ = 20.0
GRAVITY_CUTOFF_HZ = 0.3


def separate(acc: Matrix, gyro: Matrix, margin: int = 0) -> Matrix:
    """Filter the noise, then take gravity from the acceleration of the body, with margins.

    acc, gyro: one row per cell of the grid (128 + 2 margin), three columns; or a stack of such
    windows.
    """
    clean, gravity = _filters(margin)
    signal = median_of_three(np.concatenate([acc, gyro], axis=-1))
    smooth = np.swapaxes(clean @ signal, -1, -2)
    body = smooth[..., :3, :] - np.swapaxes(gravity @ signal[..., :3], -1, -2)
    return np.concatenate([body, smooth[..., 3:, :], smooth[..., :3, :]], axis=-2)


@lru_cache(maxsize=4)
def _filters(margin: int) -> tuple[Matrix, Matrix]:
    """The rows of the two filters that fall on the window.

    And on the sample after it, if the margin holds one.
    """
    cells = WINDOW + 2 * margin
    rows = slice(margin, margin + WINDOW + (1 if margin else 0))
    clean = low_pass(cells, NOISE_CUTOFF_HZ, RATE)
    gravity = low_pass(cells, GRAVITY_CUTOFF_HZ, RATE)
    return np.ascontiguousarray(clean[rows]), np.ascontiguousarray((gravity @ clean)[rows])
