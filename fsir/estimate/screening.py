"""Screening: which few features the second report is about.

The aggregator merges the noisy sums of all devices and selects, or counts their votes (`fsir.estimate.votes`): both are
post-processing of what devices have released.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsir.estimate.totals import Totals
from fsir.task.task import Screening

Matrix = NDArray[np.float64]


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
