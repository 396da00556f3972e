"""Screening: which few features the second report is about.

The paper's CCMD filter lets every device vote with the indices of its large conditional slice means, computed from
the raw data. Such a vote is not private (erratum E8): one record can change it with certainty. Here votes are
computed from an already privatised matrix, or the aggregator merges the noisy sums of all devices and selects; both
are post-processing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsir.privacy.release import Release, Totals
from fsir.task.task import Screening

Matrix = NDArray[np.float64]
Votes = NDArray[np.bool_]  # features x slices

CCMD_AS_PUBLISHED_IS_PRIVATE = False


def conditional_differences(sums: Matrix, counts: NDArray[np.float64], n: int) -> Matrix:
    """`|mean of feature j in slice h - overall mean|`; an empty slice says nothing."""
    mean = sums.sum(axis=1, keepdims=True) / n
    filled = np.maximum(counts, 1.0)
    difference: Matrix = np.where(counts > 0, np.abs(sums / filled - mean), 0.0)
    return difference


def ccmd_votes(sums: Matrix, counts: NDArray[np.float64], n: int, threshold: float) -> Votes:
    """The CCMD filter on one device. Private exactly if `sums` and `counts` already are."""
    votes: Votes = conditional_differences(sums, counts, n) > threshold
    return votes


def private_votes(released: Release, totals: Totals, threshold: float) -> Votes:
    """The votes of one device from what it would be allowed to publish; `totals` is empty and of the same stage."""
    totals.add(released)
    # Conditional means of slices with fewer records than the noise of their count are noise divided by noise.
    counts = np.where(totals.counts() > 2.0 * totals.stage.counts.sd, totals.counts(), 0.0)
    return ccmd_votes(totals.sums(), counts, totals.n, threshold)


def majority(multiplicity: NDArray[np.int64], devices: int) -> tuple[int, ...]:
    """Features whose multiplicity, over all devices and slices, exceeds half of the devices."""
    return tuple(int(j) for j in np.flatnonzero(multiplicity > devices / 2))


def slice_matrix(totals: Totals) -> Matrix:
    """Merged `M`: mean of the centred feature times the response code; centring happens here, never on the device."""
    G = totals.sums() / totals.n
    if totals.stage.code:
        return G  # the codes average to 0 over the public slices
    M: Matrix = G - np.outer(G.sum(axis=1), totals.counts() / totals.n)
    return M


def select(screening: Screening, totals: Totals) -> tuple[int, ...]:
    """The active set from merged noisy sums, at most `limit` features, in the order of the task."""
    M = slice_matrix(totals)
    strength = np.linalg.norm(M, axis=1)
    if screening.select == "per_slice":
        chosen = {
            int(j)
            for h in range(M.shape[1])
            for j in np.argsort(-np.abs(M[:, h]), kind="stable")[: screening.keep]
        }
    elif screening.select == "overall":
        chosen = {int(j) for j in np.argsort(-strength, kind="stable")[: screening.keep]}
    else:
        chosen = _significant(strength, totals)
    if len(chosen) > screening.limit:
        chosen = set(sorted(chosen, key=lambda j: (-strength[j], j))[: screening.limit])
    return tuple(sorted(chosen))


def _significant(strength: NDArray[np.float64], totals: Totals) -> set[int]:
    """Features that stand out of mechanism and sampling noise even after looking at all of them."""
    from scipy.stats import chi2  # only an aggregator comes here

    stage, N = totals.stage, totals.n
    # Standardised features have a variance of about 1, and codes or slice indicators a mean square of 1/columns.
    sampling = 1.0 / (N * stage.columns)
    variance = totals.inflation * (totals.devices * stage.sums.variance / N**2 + sampling)
    return {
        int(j)
        for j in np.flatnonzero(stage.p * chi2.sf(strength**2 / variance, stage.columns) < 0.1)
    }
