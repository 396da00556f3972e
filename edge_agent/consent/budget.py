"""What a device has spent, and whether one more release fits under its owner's cap.

Costs add up as `mu^2` over the releases that one unit of data took part in. Releases about disjoint
intervals of one source share no record, so that only the most expensive record counts: a unit of g
consecutive records that straddles intervals moves each release by its part only, `mu/g` for each
record, and by convexity bears no more than the worst of its records (docs/privacy.md, theorem 5c).
The numbers of every release that it touches count. Different sources may well deliver the same
data: their costs are added.

Rounds whose noise is correlated make a chain. A record in one of them costs `mu`, and the numbers
of a round are those of all: they count once. One that several sources deliver may be in several
rounds of the chain, k at most, and moves it by at most k times as much (theorem 13): there not
`mu^2` adds up but `mu`, and the square of a sum of k is at most k times the sum of the squares.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from fsir.privacy.budget import epsilon_drawn
from fsir.privacy.plan import Stage


class Cost(NamedTuple):
    """One release, done or planned: its cost and the records that it is about."""

    mu: float
    numbers: int  # published; the sampler's error counts for each
    source: str
    first: int
    last: float  # infinite where it is not known yet
    unit_records: int = 1  # consecutive records that are protected together
    chain: bytes = b""  # the task, if the noise of its rounds is correlated


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
    for cost in sorted(costs, key=lambda cost: cost.first):
        by_source.setdefault(cost.source, []).append(cost)
    chains = Counter(chain for some in by_source.values() for chain in _chains(some))
    # One person's data may be in every source, so that the worst of each adds up.
    squared = sum(
        max(_squared(borne, chains) for borne in _together(some, 0)) for some in by_source.values()
    )
    numbers = sum(
        max(map(_numbers, _together(some, max(cost.unit_records for cost in some) - 1)))
        for some in by_source.values()
    )
    return squared, numbers


def _together(costs: Iterable[Cost], reach: int) -> Iterator[list[Cost]]:
    """The releases that a stretch of `reach + 1` records touches, in the order of their beginning.

    Most are touched by one that ends where some release begins.
    """
    touched: list[Cost] = []
    for cost in costs:
        touched = [other for other in touched if other.last >= cost.first - reach]
        touched.append(cost)
        yield touched


def _chains(costs: Iterable[Cost]) -> set[bytes]:
    return {cost.chain for cost in costs if cost.chain}


def _squared(borne: list[Cost], sources: Mapping[bytes, int]) -> float:
    """What a record bears of these releases, where a chain is about so many sources."""
    alone = sum(cost.mu**2 for cost in borne if not cost.chain)
    chained = sum(
        sources[chain] * sum(cost.mu for cost in borne if cost.chain == chain) ** 2
        for chain in _chains(borne)
    )
    return alone + chained


def _numbers(touched: list[Cost]) -> int:
    """Numbers about a unit that touches these releases."""
    alone = sum(cost.numbers for cost in touched if not cost.chain)
    return alone + sum(
        max(cost.numbers for cost in touched if cost.chain == chain) for chain in _chains(touched)
    )
