"""Laws of whole numbers, exactly: rounded Gaussians, their sums, and the privacy curve of two."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from fsir.arrays import Integers, Matrix
from sim_devices.audit.finding import Bound

_REACH_SIGMAS = 14.0  # beyond which nothing is left that a float would show
_STEPS = 200  # of a bisection


@dataclass(frozen=True, eq=False)
class IntegerLaw:
    """Probabilities of `first`, `first + 1`, ..."""

    first: int
    probabilities: Matrix

    def plus(self, other: IntegerLaw) -> IntegerLaw:
        """The law of the sum of two independent numbers."""
        together = np.convolve(self.probabilities, other.probabilities)
        return IntegerLaw(self.first + other.first, together)

    def doubled(self) -> IntegerLaw:
        """The law of twice the number."""
        spread = np.zeros(2 * len(self.probabilities) - 1)
        spread[::2] = self.probabilities
        return IntegerLaw(2 * self.first, spread)

    def uniform(self, values: Integers, coins: Matrix) -> Matrix:
        """Numbers that are uniform if `values` follow this law and `coins` are uniform."""
        edges = np.concatenate([[0.0], np.cumsum(self.probabilities)])
        at = np.clip(values - self.first, 0, len(self.probabilities) - 1)
        placed: Matrix = edges[at] + coins * self.probabilities[at]
        return np.clip(placed, 1e-300, 1.0 - 1e-16)


def rounded(centre: float, sd: float) -> IntegerLaw:
    """`floor(centre + sd z + 1/2)`; without noise, a certain number."""
    reach = _REACH_SIGMAS * sd + 1.0
    outcomes = np.arange(math.floor(centre - reach), math.ceil(centre + reach) + 1)
    if sd == 0.0:
        return IntegerLaw(math.floor(centre + 0.5), np.ones(1))
    low = (outcomes - 0.5 - centre) / sd
    high = (outcomes + 0.5 - centre) / sd
    # On the side on which the distribution function is small, and so accurate.
    left = ndtr(high) - ndtr(low)
    right = ndtr(-low) - ndtr(-high)
    return IntegerLaw(int(outcomes[0]), np.where(low + high < 0, left, right))


def bound(one: IntegerLaw, other: IntegerLaw, epsilon: float, delta: float) -> Bound:
    """What distinguishes two laws, in both directions; exact but for floating point."""
    start = min(one.first, other.first)
    end = max(law.first + len(law.probabilities) for law in (one, other))
    P, Q = (_between(law, start, end) for law in (one, other))
    found = max(_epsilon(P, Q, delta), _epsilon(Q, P, delta))
    beyond = max(_delta(P, Q, epsilon), _delta(Q, P, epsilon))
    return Bound(found, beyond, 1.0, "exact law of the whole numbers")


def _between(law: IntegerLaw, start: int, end: int) -> Matrix:
    before = law.first - start
    after = end - law.first - len(law.probabilities)
    return np.pad(law.probabilities, (before, after))


def _delta(P: Matrix, Q: Matrix, epsilon: float) -> float:
    """The largest `P(S) - e^epsilon Q(S)`."""
    return float(np.maximum(P - math.exp(min(epsilon, 700.0)) * Q, 0.0).sum())


def _epsilon(P: Matrix, Q: Matrix, delta: float) -> float:
    """The epsilon at which that is `delta`."""
    if _delta(P, Q, 0.0) <= delta:
        return 0.0
    low = 0.0
    high = 700.0
    if _delta(P, Q, high) > delta:
        return math.inf
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _delta(P, Q, middle) > delta else (low, middle)
    return low
