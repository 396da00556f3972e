"""What all pictures of projected records share: colours, markers, and where a point goes."""

from __future__ import annotations

import numpy as np

from fsir.arrays import Integers, Matrix

# Okabe and Ito's colours, told apart by everyone, but grey for black, which the night would hide;
# and four of Tol's for those who have more classes.
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#7A7A7A"),
    *("#882255", "#999933", "#332288", "#44AA99"),
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")


def coordinates(Z: Matrix, h: int) -> tuple[Matrix, Matrix]:
    """Two coordinates per record; a single direction is spread out by class, with even jitter."""
    if Z.shape[1] > 1:
        return Z[:, 0], Z[:, 1]
    jitter = (np.arange(len(Z)) * 0.618034 % 1.0).astype(np.float64)
    return Z[:, 0], np.asarray(h + 0.7 * (jitter - 0.5), dtype=np.float64)


def thinned(count: int, most: int) -> Integers:
    """At most `most` indices, evenly spread.

    >>> thinned(7, 3)
    array([0, 3, 6])
    """
    if not count:
        return np.empty(0, np.int64)
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
