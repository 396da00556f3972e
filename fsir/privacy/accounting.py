"""Exact privacy accounting of Gaussian releases.

One number says what a Gaussian release costs: `mu`, the largest distance that one unit of data can
move its mean, counted in standard deviations of the noise. Releases compose by adding `mu^2`, and
`mu` converts exactly to (epsilon, delta) and back (Balle and Wang 2018, theorem 8; Dong, Roth and
Su 2022, corollary 2.13). The proofs are in docs/privacy.md. The paper's own formulas stand at the
end, for comparison only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from fsir.errors import AccountingError


def _require(name: str, value: float, low: float, high: float) -> None:
    if not low < value < high:  # also catches NaN
        raise AccountingError(f"{name} = {value!r}: must lie strictly between {low:g} and {high:g}")


def _upper_tail(z: float) -> float:
    """P(Z > z) of a standard normal, accurate in the far tail."""
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def _log_upper_tail(z: float) -> float:
    """The logarithm of P(Z > z), also where that is too small for a float."""
    if z < 30.0:
        return math.log(_upper_tail(z))
    # The asymptotic series, cut after a negative term: below the truth, by less than 2e-10 of it.
    series = 1.0 - (1.0 - (3.0 - 15.0 / (z * z)) / (z * z)) / (z * z)
    return -0.5 * z * z - math.log(z * math.sqrt(2.0 * math.pi)) + math.log(series)


def _edge(holds: Callable[[float], bool], low: float = 0.0) -> tuple[float, float]:
    """Neighbouring numbers above `low`: the last for which it `holds`, the first without."""
    high = 1.0
    while holds(high):
        low, high = high, 2.0 * high
    while (middle := 0.5 * (low + high)) not in (low, high):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def delta_of(mu: float, epsilon: float) -> float:
    """The smallest delta at which a release of cost `mu` is (epsilon, delta)-private.

    Parameters
    ----------
    mu
        The cost: how far one unit of data can move the mean, in standard deviations of the noise.
    epsilon
        Any finite number.

    Returns
    -------
    float
        Exact to about 1e-8, relative.

    Raises
    ------
    AccountingError
        For a cost below 0, or what is no number.

    References
    ----------
    Balle, B. and Wang, Y.-X. (2018). Improving the Gaussian mechanism for differential privacy.
    ICML. Theorem 8.

    Examples
    --------
    >>> import fsir
    >>> round(fsir.delta_of(1 / 4.2247, 1.0) * 1e6, 3)
    1.0
    """
    if mu == 0.0:
        return 0.0
    _require("mu", mu, 0.0, math.inf)
    _require("epsilon", epsilon, -math.inf, math.inf)
    # delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu); the second term in logarithms, because
    # e^eps may overflow.
    scaled = math.exp(epsilon + _log_upper_tail(epsilon / mu + mu / 2))
    return max(0.0, _upper_tail(epsilon / mu - mu / 2) - scaled)


def mu_of(epsilon: float, delta: float) -> float:
    """The largest cost `mu` that (epsilon, delta) pays for.

    Parameters
    ----------
    epsilon
        Above 0.
    delta
        Between 0 and 1.

    Returns
    -------
    float
        The cost, rounded to the side on which the promise holds.

    Raises
    ------
    AccountingError
        For a budget outside of these ranges.

    References
    ----------
    Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy. Journal of the Royal
    Statistical Society B 84. Corollary 2.13.

    Examples
    --------
    >>> import fsir
    >>> round(1 / fsir.mu_of(1.0, 1e-6), 4)  # noise for a sensitivity of 1
    4.2247
    """
    _require("epsilon", epsilon, 0.0, math.inf)
    _require("delta", delta, 0.0, 1.0)
    return _mu_of(epsilon, delta)


# The same few budgets are asked for again and again.
@lru_cache(maxsize=1024)
def _mu_of(epsilon: float, delta: float) -> float:
    return _edge(lambda mu: delta_of(mu, epsilon) <= delta)[0]


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon at which a release of cost `mu` is (epsilon, delta)-private.

    Parameters
    ----------
    mu
        The cost; infinite for a release without noise.
    delta
        Between 0 and 1.

    Returns
    -------
    float
        At least 0, rounded to the side on which the promise holds.

    Raises
    ------
    AccountingError
        For a cost or a delta outside of these ranges.

    Examples
    --------
    >>> import fsir
    >>> round(fsir.epsilon_of(fsir.mu_of(1.0, 1e-6), 1e-6), 6)
    1.0
    """
    _require("delta", delta, 0.0, 1.0)
    if mu == math.inf:
        return math.inf
    return _epsilon_of(mu, delta)


@lru_cache(maxsize=1024)
def _epsilon_of(mu: float, delta: float) -> float:
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    return _edge(lambda epsilon: delta_of(mu, epsilon) > delta)[1]


def compose(*mus: float) -> float:
    """The cost of several releases about the same data, each maybe chosen after seeing others."""
    if any(not mu >= 0.0 for mu in mus):
        raise AccountingError(f"mu = {mus!r}: every cost must be at least 0")
    return math.hypot(*mus)


def odds_factor(mu: float, delta: float) -> float:
    """How far a Gaussian release raises the odds of the truth, except with probability `delta`.

    Its log-likelihood ratio is N(mu^2/2, mu^2) under the truth (docs/privacy.md, proposition 9).
    """
    return math.exp(mu * (_quantile(mu, delta) + mu / 2.0))


def odds_exception(mu: float, epsilon: float) -> float:
    """The probability with which a Gaussian release raises these odds by more than e^epsilon."""
    _require("mu", mu, 0.0, math.inf)
    return _upper_tail(epsilon / mu - mu / 2.0)


def worst_odds_factor(mu: float, delta: float) -> float:
    """`odds_factor` of whatever can be made of a release of cost `mu`, such as votes."""
    z = _quantile(mu, delta)
    return math.exp(_log_upper_tail(z) - _log_upper_tail(z + mu))


def worst_odds_exception(mu: float, epsilon: float) -> float:
    """`odds_exception` of whatever can be made of a release of cost `mu`."""
    _require("mu", mu, 0.0, math.inf)
    _require("epsilon", epsilon, 0.0, math.inf)
    above = _edge(lambda z: _log_upper_tail(z) - _log_upper_tail(z + mu) < epsilon, -40.0)[0]
    return _upper_tail(above)


def _quantile(mu: float, delta: float) -> float:
    """The point that a standard normal exceeds with probability `delta`."""
    _require("mu", mu, 0.0, math.inf)
    _require("delta", delta, 0.0, 1.0)
    from statistics import NormalDist

    return -NormalDist().inv_cdf(delta)


def joint_mu(C: float, c: float, s_M: float, s_S: float) -> float:
    """The exact cost of releasing slice sums, slice counts and the second moment together.

    A record `x` with `|x| <= C` in slice `h` enters as `(x; c) e_h^T` with noise sd `s_M` per entry
    and as `x x^T` with noise sd `s_S` in the isometric (square root of 2 weighted) upper triangle;
    neighbours replace one record. The first branch is the worst replacement within a slice, the
    second one the worst across slices (docs/privacy.md, theorem 1). `s_S = inf` means that no
    second moment is released.
    """
    for name, value in (("C", C), ("s_M", s_M)):
        _require(name, value, 0.0, math.inf)
    if not (c >= 0.0 and s_S > 0.0):
        raise AccountingError(f"c = {c!r}, s_S = {s_S!r}: c must be at least 0 and s_S above 0")
    A = 2.0 * (C / s_M) ** 2
    B = 2.0 * (C * C / s_S) ** 2
    within = A + B + A * A / (4.0 * B) if A <= 2.0 * B else 2.0 * A
    across = A * (1.0 + (c / C) ** 2) + B
    return math.sqrt(max(within, across))


def free_scales(C: float, mu: float) -> tuple[float, float, float]:
    """`(s_M, s_S, c)` that release counts and second moment at the cost of the slice sums alone.

    That cost is `mu = 2C/s_M`.
    """
    _require("C", C, 0.0, math.inf)
    _require("mu", mu, 0.0, math.inf)
    s_M = 2.0 * C / mu
    return s_M, math.sqrt(2.0) * C * s_M, C / math.sqrt(2.0)


def split_scales(C: float, mu: float, x: float) -> tuple[float, float, float]:
    """`(s_M, s_S, c)` of cost `mu` that give the sums `x` times what the second moment has.

    In the terms of `joint_mu`, `A = x B`; up to 2 both of its branches are then `B (1 + x/2)^2`. At
    2 these are the `free_scales` (docs/privacy.md, theorem 1, remark).
    """
    _require("C", C, 0.0, math.inf)
    _require("mu", mu, 0.0, math.inf)
    if not 0.0 < x <= 2.0:
        raise AccountingError(f"x = {x!r}: must be above 0 and at most 2, the free split")
    root_B = mu / (1.0 + x / 2.0)
    s_M = math.sqrt(2.0) * C / (math.sqrt(x) * root_B)
    return s_M, math.sqrt(2.0) * C * C / root_B, C * math.sqrt(x) / 2.0


def minimum_sample_size(s_M: float, sigma_0: float) -> int:
    """The smallest n at which the noise of a slice mean, `s_M / n`, is at most `sigma_0`."""
    _require("s_M", s_M, 0.0, math.inf)
    _require("sigma_0", sigma_0, 0.0, math.inf)
    return max(1, math.ceil(s_M / sigma_0 - 1e-9))


def classical_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Noise of the classical Gaussian mechanism.

    Proven below epsilon 1, wasteful there, too small from about 7.6.
    """
    _require("sensitivity", sensitivity, 0.0, math.inf)
    _require("epsilon", epsilon, 0.0, math.inf)
    _require("delta", delta, 0.0, 1.0)
    return sensitivity * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def lemma_sigma(p: int, n: int, epsilon: float, delta: float) -> float:
    """The paper's noise on every entry of the mean second moment of records with norm at most 1."""
    _require("epsilon", epsilon, 0.0, math.inf)
    _require("delta", delta, 0.0, 1.0)
    root = math.sqrt(2.0 * math.log((p * p + p) / (2.0 * math.sqrt(2.0 * math.pi) * delta)))
    return (p + 1) / (n * epsilon) * root + 1.0 / (n * math.sqrt(epsilon))
