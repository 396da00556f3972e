"""The votes of one device on which features matter.

The paper's CCMD filter lets every device vote with the indices of its large conditional slice
means, computed from the raw data. Such a vote is not private (erratum E8): one record can change it
with certainty. Here votes are computed from an already privatised matrix, which is post-processing.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.estimate.totals import Totals
from fsir.privacy.release import Release


def conditional_differences(sums: Matrix, counts: Matrix, n: int) -> Matrix:
    """`|mean of feature j in slice h - overall mean|`; an empty slice says nothing."""
    mean = sums.sum(axis=1, keepdims=True) / n
    filled = np.maximum(counts, 1.0)
    difference: Matrix = np.where(counts > 0, np.abs(sums / filled - mean), 0.0)
    return difference


def ccmd_votes(sums: Matrix, counts: Matrix, n: int, threshold: float) -> Flags:
    """The CCMD filter on one device, features x slices.

    Private exactly if `sums` and `counts` already are.
    """
    votes: Flags = conditional_differences(sums, counts, n) > threshold
    return votes


def private_votes(released: Release, totals: Totals, threshold: float) -> Flags:
    """The votes of one device from what it would be allowed to publish, features x slices.

    `totals` is empty and of the same stage.
    """
    totals.add(released)
    # Conditional means of slices with fewer records than the noise of their count are noise divided
    # by noise.
    counts = np.where(totals.counts() > 2.0 * totals.stage.counts.sd, totals.counts(), 0.0)
    return ccmd_votes(totals.sums(), counts, totals.accepted, threshold)
