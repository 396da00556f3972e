"""What a device has spent, and whether one more release fits under its owner's cap.

Costs add up as `mu^2` over the releases that one unit of data took part in. Releases about disjoint
intervals of one source share no record, so that only the most expensive record counts: a unit of g
consecutive records that straddles intervals moves each release by its part only, `mu/g` for each
record, and by convexity bears no more than the worst of its records (docs/privacy.md, theorem 5c).
The numbers of every release that it touches count. Different sources may well deliver the same
data: their costs are added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fsir.privacy.budget import epsilon_drawn
from fsir.privacy.plan import Stage


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One release, done or planned: its cost and the records that it is about."""

    mu: float
    numbers: int  # published; the sampler's error counts for each
    source: str
    first: int
    last: float  # infinite where it is not known yet
    unit_records: int = 1  # consecutive records that are protected together


def numbers_in(stage: Stage) -> int:
    """How many noisy numbers a report of this stage is made from, and what is opened of it."""
    return stage.numbers


def total_epsilon(costs: Iterable[Cost], delta: float) -> float:
    """The epsilon, at `delta`, of everything together."""
    squared, numbers = load(costs)
    return epsilon_drawn(math.sqrt(squared), numbers, delta)


def load(costs: Iterable[Cost]) -> tuple[float, int]:
    """The most that a unit of data bears: the sum of mu^2, and the numbers published about it.

    >>> first = Cost(mu=3.0, numbers=10, source="csv:walk", first=0, last=99)
    >>> later = Cost(mu=4.0, numbers=10, source="csv:walk", first=100, last=199)
    >>> again = Cost(mu=4.0, numbers=10, source="csv:walk", first=0, last=99)
    >>> load([first, later]), load([first, again])
    ((16.0, 10), (25.0, 20))
    """
    by_source: dict[str, list[Cost]] = {}
    for cost in costs:
        by_source.setdefault(cost.source, []).append(cost)
    # One person's data may be in every source, so that the worst of each adds up.
    squared = sum(
        max(_squared_at(cost.first, some) for cost in some) for some in by_source.values()
    )
    numbers = sum(max(_numbers_near(cost, some) for cost in some) for some in by_source.values())
    return squared, numbers


def _squared_at(record: int, costs: list[Cost]) -> float:
    """What one record bears; those that bear most are among the first ones of the intervals."""
    return sum(cost.mu**2 for cost in costs if cost.first <= record <= cost.last)


def _numbers_near(cost: Cost, costs: list[Cost]) -> int:
    """At least the numbers about a unit that touches this release: it may straddle its borders."""
    reach = max(other.unit_records for other in costs) - 1
    low = cost.first - reach
    high = cost.last + reach
    return sum(other.numbers for other in costs if other.first <= high and other.last >= low)
