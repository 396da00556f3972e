"""Screening: which few features the second report is about.

The aggregator merges the noisy sums of all devices and selects, or counts their votes
(`fsir.estimate.votes`): both are post-processing of what devices have released.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.estimate.totals import Totals
from fsir.task.task import Screening

_FALSE_ALARMS = 0.1  # features that are expected to be significant where nothing matters, in all


def majority(multiplicity: Integers, devices: int) -> tuple[int, ...]:
    """Features whose multiplicity, over all devices and slices, exceeds half of the devices."""
    return tuple(int(j) for j in np.flatnonzero(multiplicity > devices / 2))


def slice_matrix(totals: Totals) -> Matrix:
    """Merged `M`: mean of the centred feature times the response code.

    Centring happens here, never on the device.
    """
    N = totals.accepted
    G = totals.sums() / N
    if totals.stage.code:
        return G  # the codes average to 0 over the public slices
    M: Matrix = G - np.outer(G.sum(axis=1), totals.counts() / N)
    return M


def select(screening: Screening, totals: Totals) -> tuple[int, ...]:
    """The active set from merged noisy sums, at most `limit` features, in the order of the task."""
    M = slice_matrix(totals)
    strength = np.linalg.norm(M, axis=1)
    if screening.select == "per_slice":
        chosen = {j for column in M.T for j in _largest(np.abs(column), screening.keep)}
    elif screening.select == "overall":
        chosen = _largest(strength, screening.keep)
    else:
        chosen = _significant(strength, totals)
    if len(chosen) > screening.limit:
        chosen = set(sorted(chosen, key=lambda j: (-strength[j], j))[: screening.limit])
    return tuple(sorted(chosen))


def _largest(values: Matrix, keep: int) -> set[int]:
    """Where the largest values are; of equal ones the first."""
    return {int(j) for j in np.argsort(-values, kind="stable")[:keep]}


def _significant(strength: Matrix, totals: Totals) -> set[int]:
    """Features that stand out of mechanism and sampling noise even after looking at all of them."""
    from scipy.stats import chi2  # only an aggregator comes here

    stage = totals.stage
    N = totals.accepted
    # Standardised features have a variance of about 1, and codes or slice indicators a mean square
    # of 1/columns.
    sampling = 1.0 / (N * stage.columns)
    variance = totals.inflation * (totals.noises * stage.sums.variance / N**2 + sampling)
    by_chance = stage.p * chi2.sf(strength**2 / variance, stage.columns)
    return {int(j) for j in np.flatnonzero(by_chance < _FALSE_ALARMS)}
