"""What a public sample and noisy reports say together about slices: their centres and their spread.

Reports of a task with a public map are about `r = P^T x - c_h`, how far a record lies from where
the public sample has the centre of its slice, in coordinates whose covariance within slices is the
identity in that sample. So the sample is the prior, reports correct it, and both are weighed by how
much is known about them: without reports the sample stands, with many of them it is forgotten. What
was tried instead stands in docs/estimate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.classifier import hidden
from fsir.estimate.covariance import Means, means
from fsir.estimate.public.clip import kept_by
from fsir.estimate.public.shifts import Shift, shrunk, variances_tried
from fsir.estimate.public.within import within_slices
from fsir.estimate.totals import Totals
from fsir.task.public_map import Public

_REHEARSED_SD = 0.2  # how far a sample's own people may be from what strangers are
# How far shares may differ from those of the sample, relative to them, before reports come.
_SHARES_SD = 0.2
_FEWEST = 0.1  # of the records that the sample lets expect: a slice is never taken for smaller


@dataclass(frozen=True, eq=False, kw_only=True)
class Posterior:
    """Slices in the coordinates of the map, as far as the sample and the reports tell."""

    N: int  # records behind the reports
    public: Matrix  # the public centres, slices x coordinates
    centres: Matrix  # the corrected ones
    variances: Matrix  # of each slice's centre, in every coordinate
    believed: float  # of the shifts that were reported, from 0 to 1
    strangeness: Matrix  # of each slice: the variance of its shift, which reports tell
    within: Matrix  # coordinates x coordinates: covariance within slices
    within_variance: float  # of an entry of it, as far as records were few and noise great
    shares: Matrix  # of the slices
    doubtful: tuple[int, ...]  # slices whose count is within its noise
    public_right: float | None  # share of records whose nearest public centre is that of their own
    public_right_sd: float | None = None  # of that share, where reports tell it through their noise


def posterior(public: Public, totals: Totals, clip: float) -> Posterior:
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
            believed=0.0,
            strangeness=np.array(tried),
            within=np.eye(q),
            within_variance=1.0 / public.records,
            shares=_expected_shares(public),
            doubtful=(),
            public_right=public.accuracy,
        )
    m = means(totals, _accepted(totals))
    right, right_sd = _public_right(public, m)
    shares = _shares(m, _expected_shares(public))
    clipped = _shifts(m, shares, public, np.ones(len(shares)))
    believed = np.array([found.believed for found in clipped])
    # What the clip took is given back as far as noise lets shifts be believed: with much noise it
    # would be noise that is made larger.
    kept = kept_by(m.second[:q, :q], m.levels, clip, _lengths(clipped), shares / shares.sum())
    kept = kept.towards_one(believed)
    shifts = _shifts(m, shares, public, kept.length)
    shift = np.stack([found.shift for found in shifts])
    square = float(shares @ kept.square / shares.sum())
    spread = (m.second[:q, :q] - (shift.T * shares * kept.square) @ shift) / square
    spread_noise = m.levels.off_diagonal / square**2
    return Posterior(
        N=m.N,
        public=centres,
        centres=centres + shift,
        variances=np.array([found.variance for found in shifts]),
        believed=float(shares @ believed),
        strangeness=np.array([found.strangeness for found in shifts]),
        within=within_slices(spread, spread_noise),
        # What is cut off for fear of noise is as large as the noise that is left.
        within_variance=min(1.0 / public.records, 2.0 * (spread_noise + 1.0 / m.N)),
        shares=shares / shares.sum(),
        doubtful=tuple(np.flatnonzero(hidden(m.counts, m.levels, m.N)).tolist()),
        public_right=right,
        public_right_sd=right_sd,
    )


def uncorrected(known: Posterior) -> Posterior:
    """The same with the centres and the covariance of the sample."""
    return replace(
        known,
        centres=known.public,
        variances=known.strangeness,
        within=np.eye(len(known.within)),
    )


def sharpened(known: Posterior, times: int) -> Posterior:
    """What would be known from so many times as many reports that say the same.

    The variance V of a centre is that of a shift (`strangeness`, t) and of its noise v together,
    `1/V = 1/t + 1/v`, and the noise is smaller by that factor. The spread is left as it is.
    """
    more = times / known.variances - (times - 1) / known.strangeness
    return replace(known, N=times * known.N, variances=1.0 / more)


def _accepted(totals: Totals) -> int:
    """How many records were learned, of all that were offered: null ones may be many.

    The counts tell, and what they lack is believed as far as it is more than their noise.
    """
    stage = totals.stage
    missing = max(totals.n - float(totals.counts().sum()), 0.0)
    variance = totals.inflation * totals.noises * stage.slices * stage.counts.variance
    believed = missing**2 / max(missing**2 + variance, 1e-300)
    return max(1, round(totals.n - believed * missing))


def _shifts(m: Means, shares: Matrix, public: Public, kept: Matrix) -> list[Shift]:
    """The shifts of the slices, where the clip has left so much of their records."""
    observed = (m.sums[: public.coordinates] / (shares * kept)).T
    noise = m.levels.sums / (shares * kept) ** 2 + 1.0 / (shares * m.N)
    rows = zip(observed, noise, _records(public), strict=True)
    return [shrunk(d, v, variances_tried(n)) for d, v, n in rows]


def _lengths(shifts: list[Shift]) -> Matrix:
    """How long they are without their noise: their own length is that of their mean, shorter."""
    return np.array([np.linalg.norm(s.shift) / max(s.believed, 1e-300) ** 0.5 for s in shifts])


def _public_right(public: Public, m: Means) -> tuple[float | None, float | None]:
    """How often the nearest public centre is right: as rehearsed, corrected by what is reported.

    And the standard deviation of that, unless nobody reports it. The last row of the sums holds
    `check` for each record about which it is right, and minus `check` for every other.
    """
    if public.check is None:
        return public.accuracy, None
    reported = 0.5 + 0.5 * float(m.sums[-1].sum()) / public.check
    noise = 0.25 * m.levels.sums * m.sums.shape[1] / public.check**2
    rehearsed = 0.5 if public.accuracy is None else public.accuracy
    weight = _REHEARSED_SD**2 / (_REHEARSED_SD**2 + noise)
    right = float(np.clip(rehearsed + weight * (reported - rehearsed), 0.0, 1.0))
    return right, math.sqrt(weight * noise)


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
