"""What rounding twice takes where two aggregators open the sums of rounds.

What is seen of a device is its rounded noise plus that of an honest aggregator, both correlated
over rounds. docs/privacy.md, lemma 17, bounds how far that is from one Gaussian that is rounded;
the sampler is charged for it as if each value of a round were some more values.
"""

from __future__ import annotations

import math

from fsir.privacy.noise import RELATIVE_ERROR, RESOLUTION, RESOLUTION_OF_SHARED
from fsir.privacy.rounds.factorisation import Factorisation

_TRIED = 64  # parts in which the free number of the lemma is tried


def weight_of(factorisation: Factorisation, cohort: int | None) -> int:
    """Values of a single report whose errors are those of one value of a round, in all."""
    if cohort is None or len(factorisation.coefficients) == 1:
        return factorisation.weight
    steps = float(RESOLUTION_OF_SHARED * factorisation.resolution // RESOLUTION)
    # Two parts for epsilon, and one so that what is charged to delta pays for its own factor.
    thrice = 3.0 * rounds_error(factorisation, steps, cohort)
    return factorisation.weight + math.ceil(thrice / RELATIVE_ERROR)


def rounds_error(factorisation: Factorisation, steps: float, cohort: int) -> float:
    """Bound on the log of the ratio of probabilities of any one outcome, for each of its values.

    For noise of so many steps on the device, and `sqrt(cohort)` times as many at the aggregator.
    It holds as long as all values together stay below 0.96; a task that has more does not meet its
    delta, because more than a fifth of it is charged to that.
    """
    first = math.exp(-2.0 * math.pi**2 * steps**2 / precision(factorisation, cohort))
    theta = 2.0 * first / (1.0 - first**3)
    return 2.0 * theta


def precision(factorisation: Factorisation, cohort: int) -> float:
    """How well a device's value may be known from all else, in units of its own noise, at most.

    From its earlier values, all that is opened, and whoever else's noise in other rounds.
    """
    N2 = factorisation.norm**2
    later = math.fsum(map(abs, factorisation.coefficients)) - 1.0
    takes_back = all(b <= 0.0 for b in factorisation.coefficients[1:])
    falls = takes_back and all(c >= 0.0 for c in factorisation.inverse)
    found = []
    for part in range(_TRIED + 1):
        a = part / _TRIED
        own = (1.0 - a) ** 2 * N2 + 2.0 * a * (1.0 - a) + a * a
        opened = 1.0 + (a * later) ** 2 if falls else (1.0 + a * later) ** 2
        found.append(own + N2 * opened / cohort)
    return min(found)
