"""What a public sample and noisy reports say together about slices: their centres and their spread.

Reports of a task with a public map are about `r = P^T x - c_h`, how far a record lies from where
the public sample has the centre of its slice, in coordinates whose covariance within slices is the
identity in that sample. So the sample is the prior, reports correct it, and both are weighed by how
much is known about them: without reports the sample stands, with many of them it is forgotten.

- A slice is shifted by `delta_h`, whose coordinates are normal with a variance t that nobody knows:
  from that of the sample's own mean (other records of the same people) up to the variance within
  slices itself (other people), every order of magnitude alike. Reports say how large it is, and
  noise drowns out what it can explain: with much of it nothing is believed.
- The covariance within slices is the identity and an excess, of which the eigenvalues above half
  the edge of the noise stay, as far as the excess as a whole is more than noise.

Leading ideas: James and Stein (1961), Efron and Morris (1973) for the shifts; Ledoit and Wolf
(2004) for the covariance. What was tried instead stands in docs/estimate.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.classifier import hidden
from fsir.estimate.covariance import Means, means
from fsir.estimate.totals import Totals
from fsir.task.public_map import Public

_REHEARSED_SD = 0.15  # how far a sample's own people may be from what strangers are
_STRANGERS = 1.0  # most that slices of other people may be shifted: variance within slices is 1
_POINTS = 30  # of the grid of variances, evenly on a scale of logarithms
# How far shares may differ from those of the sample, relative to them, before reports come.
_SHARES_SD = 0.2
_FEWEST = 0.1  # of the records that the sample lets expect: a slice is never taken for smaller
_NARROWEST = 0.05  # variance within slices, in units of that of the sample
_SURE_SIGMAS = 2.0  # an excess that stands out by so much is believed by half


@dataclass(frozen=True, eq=False, kw_only=True)
class Posterior:
    """Slices in the coordinates of the map, as far as the sample and the reports tell."""

    N: int  # records behind the reports
    public: Matrix  # the public centres, slices x coordinates
    centres: Matrix  # the corrected ones
    variances: Matrix  # of each slice's centre, in every coordinate
    strangeness: Matrix  # of each slice: the variance of its shift, which reports tell
    within: Matrix  # coordinates x coordinates: covariance within slices
    shares: Matrix  # of the slices
    doubtful: tuple[int, ...]  # slices whose count is within its noise
    public_right: float | None  # share of records whose nearest public centre is that of their own


def posterior(public: Public, totals: Totals) -> Posterior:
    """Correct what the public sample says by the reports; there may be none."""
    centres = public.centre_rows()
    q = centres.shape[1]
    if totals.devices < 1 or totals.n < 1:
        tried = [variances_tried(n).mean() for n in _records(public)]
        return Posterior(
            N=0,
            public=centres,
            centres=centres,
            variances=np.array(tried),
            strangeness=np.array(tried),
            within=np.eye(q),
            shares=_expected_shares(public),
            doubtful=(),
            public_right=public.accuracy,
        )
    m = means(totals)
    shares = _shares(m, _expected_shares(public))
    observed = (m.sums[:q] / shares).T
    noise = m.levels.sums / shares**2 + 1.0 / (shares * m.N)
    shifts = [
        shrunk(d, v, variances_tried(n))
        for d, v, n in zip(observed, noise, _records(public), strict=True)
    ]
    shift = np.stack([found.shift for found in shifts])
    spread = m.second[:q, :q] - (shift.T * shares) @ shift
    return Posterior(
        N=m.N,
        public=centres,
        centres=centres + shift,
        variances=np.array([found.variance for found in shifts]),
        strangeness=np.array([found.strangeness for found in shifts]),
        within=_within(spread, m.levels.off_diagonal),
        shares=shares / shares.sum(),
        doubtful=tuple(np.flatnonzero(hidden(m.counts, m.levels, m.N)).tolist()),
        public_right=_public_right(public, m),
    )


def _public_right(public: Public, m: Means) -> float | None:
    """How often the nearest public centre is right: as rehearsed, corrected by what is reported.

    The last row of the sums holds `check` for each record about which it is right, and minus
    `check` for every other.
    """
    if public.check is None:
        return public.accuracy
    reported = 0.5 + 0.5 * float(m.sums[-1].sum()) / public.check
    noise = 0.25 * m.levels.sums * m.sums.shape[1] / public.check**2
    rehearsed = 0.5 if public.accuracy is None else public.accuracy
    weight = _REHEARSED_SD**2 / (_REHEARSED_SD**2 + noise)
    return float(np.clip(rehearsed + weight * (reported - rehearsed), 0.0, 1.0))


# --- shares ---------------------------------------------------------------------------------------


def _expected_shares(public: Public) -> Matrix:
    """The shares of the sample, with one more record in each slice: none is impossible."""
    counts = public.records * np.array(public.shares) + 1.0
    return np.asarray(counts / counts.sum())


def _records(public: Public) -> Matrix:
    """Records of the sample in each slice; a mean of fewer than two says nothing."""
    return np.asarray(np.maximum(public.records * np.array(public.shares), 2.0))


def _shares(m: Means, expected: Matrix) -> Matrix:
    prior = (_SHARES_SD * expected) ** 2
    weight = prior / (prior + m.levels.counts)
    return np.asarray(np.maximum(expected + weight * (m.counts - expected), _FEWEST * expected))


# --- shifts ---------------------------------------------------------------------------------------


def variances_tried(records: float) -> Matrix:
    """Variances that a shift may have: from that of the mean of so many records on."""
    return np.geomspace(1.0 / records, _STRANGERS, _POINTS)


class Shift(NamedTuple):
    """One shift, the variance of what is not known of it, and the variance that it came with."""

    shift: Matrix
    variance: float
    strangeness: float


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
    return Shift(believed * observed, believed * noise, float(likely @ tried))


# --- covariance within slices ---------------------------------------------------------------------


def _within(spread: Matrix, noise: float) -> Matrix:
    """The identity, and of the excess above it what stands out of noise of this variance."""
    q = len(spread)
    excess = spread - np.eye(q)
    values, vectors = np.linalg.eigh(excess)
    edge = 2.0 * (noise * q) ** 0.5
    # A direction taken for narrower than it is would give noise a great weight: there, all that
    # noise could do is taken off.
    kept = np.maximum(values - edge / 2.0, 0.0) + np.minimum(values + edge, 0.0)
    kept = np.maximum(kept * _belief(excess, noise), _NARROWEST - 1.0)
    return np.asarray(np.eye(q) + (vectors * kept) @ vectors.T)


def whitening_of(within: Matrix) -> Matrix:
    """The inverse root of a covariance: what makes it the identity."""
    values, vectors = np.linalg.eigh(within)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


def _belief(excess: Matrix, noise: float) -> float:
    """From 0 to 1: by how much the sum of squares of the excess is more than that of its noise."""
    q = len(excess)
    entries = q * (q + 1)  # diagonal ones have twice the variance, and all the others come twice
    size = float((excess * excess).sum())
    signal = float(max(1.0 - entries * noise / max(size, 1e-300), 0.0))
    sd = 2.0 * (1.0 - signal) / entries**0.5
    unsure = (_SURE_SIGMAS * sd) ** 2
    return float(signal**2 / max(signal**2 + unsure, 1e-300))
