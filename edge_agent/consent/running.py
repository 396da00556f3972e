"""The total after each of many releases, one after the other.

A release changes what is borne only near its own records, unless the rounds of a chain come from
several sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import sqrt

from edge_agent.consent.budget import Cost, load
from fsir.privacy.budget import epsilon_drawn


def running_epsilons(costs: Iterable[Cost], delta: float) -> Iterator[float]:
    """`total_epsilon` of the first release, of the first two, and so on."""
    so_far: list[Cost] = []
    worst: dict[str, tuple[float, int]] = {}
    sources: dict[bytes, set[str]] = {}
    for cost in costs:
        so_far.append(cost)
        if cost.chain:
            sources.setdefault(cost.chain, set()).add(cost.source)
        if any(len(some) > 1 for some in sources.values()):
            squared, numbers = load(so_far)
        else:
            around = load(_near(cost, so_far))
            before = worst.get(cost.source, (0.0, 0))
            worst[cost.source] = (max(before[0], around[0]), max(before[1], around[1]))
            squared = sum(one for one, _ in worst.values())
            numbers = sum(one for _, one in worst.values())
        yield epsilon_drawn(sqrt(squared), numbers, delta)


def _near(cost: Cost, costs: Iterable[Cost]) -> list[Cost]:
    """The releases that share a record, or a unit, with this one."""
    here = [other for other in costs if other.source == cost.source]
    reach = max(other.unit_records for other in here) - 1
    low = cost.first - reach
    high = cost.last + reach
    return [other for other in here if other.first <= high and other.last >= low]
