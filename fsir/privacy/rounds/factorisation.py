"""Rounds whose noise cancels: how the noise of a device's reports hangs together.

Round t publishes `x_t + sd (b_0 z_t + b_1 z_(t-1) + ... + b_(t-1) z_1)` with independent standard
normals z, which is `x + sd B z` with a public lower triangular matrix B of ones on its diagonal. It
is a function of `B^-1 x + sd z`: a record in one block moves that by at most the longest column of
`B^-1`, `norm` times what it moves its block. So `norm` times the noise of a single report costs
what the single report costs (docs/privacy.md, theorem 13).

B is the inverse of the square root of what the server adds up, the workload: for totals over all
rounds so far `B^-1` has the coefficients `binom(2k, k)/4^k` of `(1 - x)^(-1/2)` (Fichtenberger,
Henzinger and Upadhyay 2023), and the noise of the total after T rounds is `norm^2`, about
`1 + ln(T)/pi`, instead of the square root of T of independent noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import mul

import numpy as np

from fsir.privacy.noise import RESOLUTION
from fsir.task.task import Estimate, Task

_MARGIN = 1.0 + 1e-9  # more than what rounding can take away from a norm
_FAR_SIGMAS = 10.0
_ROUNDING = 0.0125  # the most that rounding adds to the variance of a total
# Of lemma 14, in units of 2^-53: how far arithmetic moves a value whose normals lie within
# _FAR_SIGMAS, per unit of kappa and in standard deviations; and the relative error that lemma 3
# has for a value of a single report. Its total variation is at most _VARIATION kappa times that
# of lemma 3.
_REACH = 138.0
_SINGLE = 2.0**13
_VARIATION = 1.2


@dataclass(frozen=True)
class Factorisation:
    """The coefficients `b_0 = 1, b_1, ...` of B, as many as there are rounds, or only the first."""

    coefficients: tuple[float, ...] = (1.0,)

    @cached_property
    def inverse(self) -> tuple[float, ...]:
        """The first column of `B^-1`, which is its longest one."""
        return _inverse(self.coefficients)

    @cached_property
    def norm(self) -> float:
        """By how much the noise is larger than that of a single report of the same cost."""
        if len(self.coefficients) == 1:
            return 1.0
        return math.sqrt(math.fsum(c * c for c in self.inverse)) * _MARGIN

    @cached_property
    def spread(self) -> float:
        """The noise of the last round, which has the most, over that of the first one."""
        return math.sqrt(math.fsum(b * b for b in self.coefficients))

    @cached_property
    def resolution(self) -> int:
        """Steps of published values to a standard deviation, at least.

        Later rounds take back noise, and not rounding: the more of them are added up, the finer.
        """
        resolution = RESOLUTION
        if len(self.coefficients) == 1:
            return resolution
        added = np.convolve(self.inverse, self.inverse)[len(self.inverse) - 1 :: -1]
        rounding = float(np.square(added).sum()) / 12.0 / self.variance(added.tolist())
        while rounding > _ROUNDING * resolution**2:
            resolution *= 2
        return resolution

    @cached_property
    def weight(self) -> int:
        """Values of a single report whose sampling error is that of one value of a round.

        docs/privacy.md, lemma 14.
        """
        if len(self.coefficients) == 1:
            return 1
        kappa = math.fsum(map(abs, self.coefficients))
        steepness = _FAR_SIGMAS * math.fsum(map(abs, self.inverse))
        widest = 2.0 * self.resolution  # a standard deviation, in steps
        relative = _REACH * kappa * (2.0 * widest + steepness) / _SINGLE
        variation = _VARIATION * kappa * (widest + 1.0) / (2.0 * RESOLUTION + 1.0)
        return math.ceil(max(relative, variation))

    def variance(self, weights: Sequence[float]) -> float:
        """Of a device's rounds added up with these weights, in units of its first round.

        A round that it has skipped has weight 0.
        """
        w = np.asarray(weights, dtype=np.float64)
        b = np.asarray(self.coefficients[: len(w)])
        return float(np.square(np.correlate(np.pad(w, (0, len(b) - 1)), b, "valid")).sum())


INDEPENDENT = Factorisation()


def factorisation_of(task: Task) -> Factorisation:
    """How the noise of a task's rounds hangs together."""
    if not task.correlates_noise:
        return INDEPENDENT
    return correlated(task.memory, task.rounds)


@lru_cache(maxsize=64)
def correlated(memory: Estimate, rounds: int) -> Factorisation:
    """How correlated noise of so many rounds hangs together, which are remembered so long."""
    return Factorisation(_inverse(_root(workload(memory, rounds))))


def workload(memory: Estimate, rounds: int) -> tuple[float, ...]:
    """What the round so many rounds ago weighs in what the server adds up.

    `auto` may have to add up all of them.
    """
    if memory.span is None:
        return (1.0,) * rounds
    if memory.memory == "window":
        return tuple(1.0 if k < memory.span else 0.0 for k in range(rounds))
    return tuple(0.5 ** (k / memory.span) for k in range(rounds))


# Of power series that begin with 1, as many coefficients as there are. `fsum` rounds once, so that
# every machine has the same.


def _root(series: Sequence[float]) -> tuple[float, ...]:
    """The square root: `(1, r_1, ...)` with `(1 + r_1 x + ...)^2` the given series."""
    root = [1.0]
    for value in series[1:]:
        inner = root[1:]
        root.append((value - math.fsum(map(mul, inner, reversed(inner)))) / 2.0)
    return tuple(root)


def _inverse(series: Sequence[float]) -> tuple[float, ...]:
    """The inverse: its product with the given series is 1."""
    inverse = [1.0]
    for k in range(1, len(series)):
        inverse.append(-math.fsum(map(mul, series[1 : k + 1], reversed(inverse))))
    return tuple(inverse)
