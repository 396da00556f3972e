"""Bounds in closed form: no sampling, no confidence.

Equal noise, different means: the privacy curve of a shifted Gaussian is known, and the bound is the
truth. Different noise: events about one direction `u`, `sum_h (u . (Y_h - m_h))^2 > t`, have
chi-square probabilities under both laws; whatever probability an event has, `epsilon >= log((P -
delta) / Q)`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp
from scipy.stats import chi2, ncx2

from fsir.arrays import Matrix
from fsir.privacy import accounting
from sim_devices.audit.bounds.laws import Certain, Gaussian, Law, same_noise
from sim_devices.audit.finding import Bound, best

NOTHING = Bound(0.0, 0.0, 1.0, "exact")


def bound(first: Law, second: Law, epsilon: float, delta: float) -> Bound:
    """The best closed-form lower bound, in both directions."""
    if isinstance(first, Certain) or isinstance(second, Certain):
        return _of_certain(first, second)
    if same_noise(first, second):
        return of_shift(distance(first, second), epsilon, delta)
    both = ((first, second), (second, first))
    return best(NOTHING, *(_of_events(one, other, epsilon, delta) for one, other in both))


def distance(first: Gaussian, second: Gaussian) -> float:
    """`mu`: how far the means are apart, in standard deviations of the common noise;
    infinite if they differ where there is none."""
    away = first.mean - second.mean
    noisy = first.variances > 0.0
    if np.any(away[~noisy]):
        return math.inf
    return float(np.linalg.norm(away[noisy] / np.sqrt(first.variances[noisy])[:, None]))


def _of_certain(first: Law, second: Law) -> Bound:
    if first == second:
        return NOTHING
    method = "exact: the two data sets publish different values with certainty"
    return Bound(math.inf, 1.0, 1.0, method)


def of_shift(mu: float, epsilon: float, delta: float) -> Bound:
    """The curve of a Gaussian whose mean has moved by `mu` standard deviations."""
    if math.isinf(mu):
        return Bound(math.inf, 1.0, 1.0, "exact: the data sets differ where there is no noise")
    method = f"exact curve of a Gaussian shifted by {mu:.6g} sd"
    return Bound(accounting.epsilon_of(mu, delta), accounting.delta_of(mu, epsilon), 1.0, method)


def _of_events(P: Gaussian, Q: Gaussian, epsilon: float, delta: float) -> Bound:
    """The best event about one axis of either noise, over one column or all of them."""
    columns = P.mean.shape[1]
    sharpest = NOTHING
    for u in np.hstack([P.directions(), Q.directions()]).T:
        v_P = P.variance_along(u)
        v_Q = Q.variance_along(u)
        # A lighter tail tells nothing; the other order of the two laws has this direction.
        if v_P <= v_Q:
            continue
        offsets = (u @ (P.mean - Q.mean)) ** 2 / v_P
        for chosen in [columns] if columns == 1 else [columns, 1]:
            shift = float(offsets.sum() if chosen == columns else offsets.max())
            event = _tail_event(chosen, v_P, v_Q, shift, epsilon, delta)
            sharpest = best(sharpest, event)
    return sharpest


def _tail_event(
    degrees: int, v_P: float, v_Q: float, shift: float, epsilon: float, delta: float
) -> Bound:
    """`sum (u . (Y_h - m_Q))^2 > t`: chi-square under Q, non-central chi-square under P."""
    law = chi2(degrees) if shift == 0.0 else ncx2(degrees, shift)
    # From the bulk to where P falls below delta: the best threshold lies in between.
    thresholds = law.isf(np.geomspace(0.999, 1.000001 * delta, 4000)) * v_P
    p = law.sf(thresholds / v_P)
    log_q = log_chi_square_tail(degrees, thresholds / v_Q)
    useful = p > delta
    epsilons = np.log(p[useful] - delta) - log_q[useful]
    deltas = p - np.exp(np.minimum(epsilon + log_q, 0.0))
    if not epsilons.size:
        return NOTHING
    method = f"exact: a chi-square event in {degrees} df"
    return Bound(float(epsilons.max()), max(0.0, float(deltas.max())), 1.0, method)


def log_chi_square_tail(degrees: int, x: Matrix) -> Matrix:
    """`log P(chi^2 > x)` without underflow,
    from the finite sum for the regularised upper gamma function.

    `Q(a + 1, y) = Q(a, y) + y^a e^-y / Gamma(a + 1)`, from `Q(1, y) = e^-y` or `Q(1/2, y) = 2
    Phi(-sqrt(2y))`.
    """
    y = np.asarray(x, dtype=np.float64) / 2.0
    a = 1.0 if degrees % 2 == 0 else 0.5
    terms = [-y if a == 1.0 else math.log(2.0) + log_ndtr(-np.sqrt(2.0 * y))]
    while a < degrees / 2.0:
        with np.errstate(divide="ignore"):
            terms.append(a * np.log(y) - y - gammaln(a + 1.0))
        a += 1.0
    return np.asarray(np.minimum(logsumexp(np.stack(terms), axis=0), 0.0))
