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

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Means, means
from fsir.estimate.totals import Totals
from fsir.task.public_map import Public

_NOTHING = 1e12  # variance of what nobody has reported
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
    centres: Matrix  # slices x coordinates
    variances: Matrix  # of each slice's centre, in every coordinate
    within: Matrix  # coordinates x coordinates, at least the identity
    shares: Matrix  # of the slices
    doubtful: tuple[int, ...]  # slices whose count is within its noise
    reported: Reported


@dataclass(frozen=True, eq=False, kw_only=True)
class Reported:
    """What reports alone say, noise and all: in a few directions of choice that is exact enough."""

    prior: Matrix  # the public centres, slices x coordinates
    shifts: Matrix  # slices x coordinates
    noise: Matrix  # variance of each slice's shift, in every coordinate
    spread: Matrix  # second moment within slices, coordinates x coordinates
    spread_noise: float  # variance of an entry of it


def posterior(public: Public, totals: Totals) -> Posterior:
    """Correct what the public sample says by the reports; there may be none."""
    if totals.devices < 1 or totals.n < 1:
        return _prior(public)
    m = means(totals)
    shares = _shares(m, _expected_shares(public))
    observed = (m.sums / shares).T
    noise = m.levels.sums / shares**2 + 1.0 / (shares * m.N)
    shifts, variances = _shifts(observed, noise, public)
    centres = public.centre_rows()
    spread = m.second - (shifts.T * shares) @ shifts
    return Posterior(
        N=m.N,
        centres=centres + shifts,
        variances=variances,
        within=_within(spread, m.levels.off_diagonal),
        shares=shares / shares.sum(),
        doubtful=_doubtful(m),
        reported=Reported(
            prior=centres,
            shifts=observed,
            noise=noise,
            spread=spread,
            spread_noise=m.levels.off_diagonal,
        ),
    )


def _prior(public: Public) -> Posterior:
    """What the public sample says alone."""
    centres = public.centre_rows()
    H, q = centres.shape
    return Posterior(
        N=0,
        centres=centres,
        variances=np.array([variances_tried(n).mean() for n in _records(public)]),
        within=np.eye(q),
        shares=_expected_shares(public),
        doubtful=(),
        reported=Reported(
            prior=centres,
            shifts=np.zeros((H, q)),
            noise=np.full(H, _NOTHING),
            spread=np.eye(q),
            spread_noise=_NOTHING,
        ),
    )


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


def _doubtful(m: Means) -> tuple[int, ...]:
    """Slices of which noise alone could have made the count."""
    hidden = m.counts < 2.0 * m.levels.counts**0.5
    return tuple(np.flatnonzero(hidden | (m.counts * m.N < 0.5)).tolist())


# --- shifts ---------------------------------------------------------------------------------------


def variances_tried(records: float, most: float = _STRANGERS) -> Matrix:
    """Variances that a shift may have: from that of the mean of so many records on."""
    return np.geomspace(1.0 / records, most, _POINTS)


def _shifts(observed: Matrix, noise: Matrix, public: Public) -> tuple[Matrix, Matrix]:
    """Posterior means of the shifts, slices x coordinates, and their variances."""
    found = [
        shrunk(d, v, variances_tried(n))
        for d, v, n in zip(observed, noise, _records(public), strict=True)
    ]
    return np.stack([shift for shift, _ in found]), np.array([v for _, v in found])


def shrunk(observed: Matrix, noise: float, tried: Matrix) -> tuple[Matrix, float]:
    """One shift: the mean over its unknown variance t, each t as likely as the data make it.

    >>> shift, variance = shrunk(np.array([2.0, -2.0, 2.0, 2.0]), 1e-6, variances_tried(100))
    >>> shift.round(3)
    array([ 2., -2.,  2.,  2.])
    >>> shift, variance = shrunk(np.array([2.0, -2.0, 2.0, 2.0]), 1e6, variances_tried(100))
    >>> shift.round(3) + 0.0
    array([0., 0., 0., 0.])
    """
    total = tried + noise
    fit = -0.5 * (len(observed) * np.log(total) + (observed @ observed) / total)
    likely = np.exp(fit - fit.max())
    believed = float((likely * tried / total).sum() / likely.sum())
    return believed * observed, believed * noise


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


def _belief(excess: Matrix, noise: float) -> float:
    """From 0 to 1: by how much the sum of squares of the excess is more than that of its noise."""
    q = len(excess)
    entries = q * (q + 1)  # diagonal ones have twice the variance, and all the others come twice
    size = float((excess * excess).sum())
    signal = float(max(1.0 - entries * noise / max(size, 1e-300), 0.0))
    sd = 2.0 * (1.0 - signal) / entries**0.5
    unsure = (_SURE_SIGMAS * sd) ** 2
    return float(signal**2 / max(signal**2 + unsure, 1e-300))
