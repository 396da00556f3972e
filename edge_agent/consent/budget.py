"""What a device has spent, and whether one more release fits under its owner's cap.

Costs add up as `mu^2` over the releases that one unit of data took part in. Releases about disjoint
intervals of one source share no record, so that only the most expensive record counts; a unit of
consecutive records that straddles two intervals moves each release by its part only, and
`a^2 + b^2 <= (a + b)^2` keeps the sum below the larger of the two. Different sources may well
deliver the same data: their costs are added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fsir.privacy import accounting
from fsir.privacy.budget import sampling_charge
from fsir.privacy.plan import Stage


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One release, done or planned: its cost and the records that it is about."""

    mu: float
    numbers: int  # published; the sampler's error counts for each
    source: str
    first: int
    last: float  # infinite where it is not known yet


def numbers_in(stage: Stage) -> int:
    """How many noisy numbers a report of this stage is made from."""
    return sum(stage.sizes)


def total_epsilon(costs: Iterable[Cost], delta: float) -> float:
    """The epsilon, at `delta`, of everything together."""
    return max(_epsilon(math.sqrt(squared), numbers, delta) for squared, numbers in loads(costs))


def loads(costs: Iterable[Cost]) -> list[tuple[float, int]]:
    """What units of data bear, the worst off among them.

    Each load is the sum of mu^2, and the numbers published about the unit.

    >>> first = Cost(mu=3.0, numbers=10, source="csv:walk", first=0, last=99)
    >>> later = Cost(mu=4.0, numbers=10, source="csv:walk", first=100, last=199)
    >>> again = Cost(mu=4.0, numbers=10, source="csv:walk", first=0, last=99)
    >>> max(loads([first, later])), max(loads([first, again]))
    ((16.0, 10), (25.0, 20))
    """
    by_source: dict[str, list[Cost]] = {}
    for cost in costs:
        by_source.setdefault(cost.source, []).append(cost)
    sources = [_loads_of(some) for some in by_source.values()]
    if len(sources) == 1:
        return sources[0]
    # One person's data may be in every source, so that the worst of each adds up.
    squared = sum(max(load[0] for load in some) for some in sources)
    numbers = sum(max(load[1] for load in some) for some in sources)
    return [(squared, numbers)]


def _loads_of(costs: list[Cost]) -> list[tuple[float, int]]:
    """The same for one source.

    The records that bear most are among those with which an interval starts.
    """
    covering = (
        [other for other in costs if other.first <= cost.first <= other.last] for cost in costs
    )
    return [
        (sum(cost.mu**2 for cost in some), sum(cost.numbers for cost in some)) for some in covering
    ]


def _epsilon(mu: float, numbers: int, delta: float) -> float:
    epsilon = 0.0
    before = -1.0
    while before < epsilon < math.inf:  # what the sampler takes of delta grows with epsilon
        taken, lost = sampling_charge(numbers, epsilon)
        before = epsilon
        epsilon = accounting.epsilon_of(mu, delta - lost) + taken if lost < delta else math.inf
    return epsilon
