"""By how far slices lie elsewhere than in the public sample, as far as noise lets one say.

A slice is shifted by `delta_h`, whose coordinates are normal with a variance t that nobody knows:
from that of the sample's own mean (other records of the same people) up to the variance within
slices itself (other people), every order of magnitude alike. Reports say how large it is, and noise
drowns out what it can explain: with much of it nothing is believed (James and Stein 1961, Efron and
Morris 1973).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsir.arrays import Matrix

_STRANGERS = 1.0  # most that slices of other people may be shifted: variance within slices is 1
_POINTS = 30  # of the grid of variances, evenly on a scale of logarithms


def variances_tried(records: float) -> Matrix:
    """Variances that a shift may have: from that of the mean of so many records on."""
    return np.geomspace(1.0 / records, _STRANGERS, _POINTS)


class Shift(NamedTuple):
    """One shift, and how much is known of it."""

    shift: Matrix
    believed: float  # of what was observed, from 0 to 1
    variance: float  # of what is not known
    strangeness: float  # the variance that shifts are found to have


def shrunk(observed: Matrix, noise: float, tried: Matrix) -> Shift:
    """One shift: the mean over its unknown variance t, each t as likely as the data make it.

    >>> shrunk(np.array([2.0, -2.0, 2.0, 2.0]), 1e-6, variances_tried(100)).shift.round(3)
    array([ 2., -2.,  2.,  2.])
    >>> shrunk(np.array([2.0, -2.0, 2.0, 2.0]), 1e6, variances_tried(100)).shift.round(3) + 0.0
    array([0., 0., 0., 0.])
    """
    total = tried + noise
    fit = -0.5 * (len(observed) * np.log(total) + (observed @ observed) / total)
    likely = np.exp(fit - fit.max())
    likely /= likely.sum()
    believed = float(likely @ (tried / total))
    return Shift(believed * observed, believed, believed * noise, float(likely @ tried))
