"""Bounds from samples of the exact log-density ratio.

For `L = log p(Y)/q(Y)` with Y drawn from P, `delta(epsilon) = E max(0, 1 - e^(epsilon - L))`. Each
value lies in [0, 1]; flipping a coin with that probability keeps the mean, and the count of heads
has Clopper and Pearson's exact bound. Epsilons to try come from a pilot sample, the bound from a
fresh one.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from sim_devices.audit.bounds.laws import Gaussian
from sim_devices.audit.finding import CONFIDENCE, Bound, at_least, best

_BATCH = 100_000
_TRIES = (1.0, 0.99, 0.97, 0.93, 0.85, 0.7, 0.5, 0.25)  # of the epsilon that the pilot suggests


def bound(
    first: Gaussian,
    second: Gaussian,
    epsilon: float,
    delta: float,
    samples: int,
    rng: np.random.Generator,
) -> Bound:
    """A lower bound at 99.9% from `samples` draws of each law."""
    # Two directions, and for each of them the tries and the claimed epsilon share the risk of being
    # wrong.
    confidence = 1.0 - (1.0 - CONFIDENCE) / (2 * (len(_TRIES) + 1))
    sharpest = Bound(0.0, 0.0, CONFIDENCE, _method(samples))
    for P, Q in ((first, second), (second, first)):
        pilot = _ratios(P, Q, max(1000, samples // 4), rng)
        suggested = _suggest(pilot, delta)
        ratios = _ratios(P, Q, samples, rng)
        coins = rng.random(samples)
        at_claim = _delta_at_least(ratios, coins, epsilon, confidence)
        tried = (share * suggested for share in _TRIES)
        certified = [
            value for value in tried if _delta_at_least(ratios, coins, value, confidence) > delta
        ]
        epsilon_bound = max(certified, default=0.0)
        sharpest = best(sharpest, Bound(epsilon_bound, at_claim, CONFIDENCE, _method(samples)))
    return sharpest


def _method(samples: int) -> str:
    return f"log-density ratio of {samples} draws"


def _ratios(P: Gaussian, Q: Gaussian, count: int, rng: np.random.Generator) -> Matrix:
    parts = []
    for start in range(0, count, _BATCH):
        Y = P.sample(min(_BATCH, count - start), rng)
        parts.append(P.log_density(Y) - Q.log_density(Y))
    return np.concatenate(parts)


def _shares(ratios: Matrix, epsilon: float) -> Matrix:
    return np.asarray(-np.expm1(np.minimum(epsilon - ratios, 0.0)))


def _delta_at_least(ratios: Matrix, coins: Matrix, epsilon: float, confidence: float) -> float:
    heads = int((coins < _shares(ratios, epsilon)).sum())
    return at_least(heads, len(ratios), confidence)


def _suggest(ratios: Matrix, delta: float) -> float:
    """The largest epsilon whose delta, in this sample, is clearly above the claimed one."""
    wanted = delta + 4.0 * np.sqrt(delta / len(ratios))
    low = 0.0
    high = max(0.0, float(ratios.max()))
    for _ in range(60):
        middle = 0.5 * (low + high)
        if float(_shares(ratios, middle).mean()) > wanted:
            low = middle
        else:
            high = middle
    return low
