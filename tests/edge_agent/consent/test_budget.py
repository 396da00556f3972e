"""Composition over a ledger: mu^2 adds up where records overlap, and only there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.consent.budget import Cost, load, total_epsilon
from fsir.privacy import accounting


def cost(mu, source, first, last, numbers=0, unit=1, chain=b""):
    return Cost(
        mu=mu,
        numbers=numbers,
        source=source,
        first=first,
        last=last,
        unit_records=unit,
        chain=chain,
    )


def total_mu(costs):
    """The cost for the unit of data that is worst off."""
    return math.sqrt(load(costs)[0])


some_costs = st.lists(
    st.builds(
        lambda mu, source, first, length: cost(mu, source, first, first + length, numbers=10),
        st.floats(0.0, 3.0),
        st.sampled_from("ab"),
        st.integers(0, 15),
        st.integers(0, 10),
    ),
    max_size=8,
)


@given(some_costs)
def test_the_total_is_that_of_the_record_that_is_worst_off(costs):
    """By brute force: the worst record of each source, and both together.

    They may be the same person's.
    """

    def borne(source, k):
        return sum(c.mu**2 for c in costs if c.source == source and c.first <= k <= c.last)

    worst = {source: max(borne(source, k) for k in range(30)) for source in "ab"}
    assert total_mu(costs) == pytest.approx(math.sqrt(worst["a"] + worst["b"]))


@given(some_costs, some_costs)
def test_more_releases_never_cost_less(some, more):
    assert total_mu(some + more) >= total_mu(some) * (1 - 1e-12)


def test_disjoint_intervals_cost_the_larger_one():
    assert total_mu([cost(0.3, "a", 0, 99), cost(0.2, "a", 100, 199)]) == pytest.approx(0.3)
    assert total_mu([cost(0.3, "a", 0, 99), cost(0.4, "a", 99, 199)]) == pytest.approx(0.5)
    assert total_mu([cost(0.3, "a", 0, 99), cost(0.4, "b", 500, 600)]) == pytest.approx(0.5)


def test_an_unproven_release_makes_the_total_infinite_only_where_it_was_made():
    leak = cost(math.inf, "a", 0, 99, numbers=10)
    assert total_epsilon([leak], 1e-6) == math.inf
    assert total_epsilon([leak, cost(0.1, "a", 50, 60, numbers=10)], 1e-6) == math.inf


@given(st.floats(0.05, 5.0), st.floats(1e-9, 1e-3), st.integers(0, 5000))
def test_epsilon_pays_for_the_sampler_too(epsilon, delta, numbers):
    mu = accounting.mu_of(epsilon, delta)
    total = total_epsilon([cost(mu, "a", 0, 9, numbers)], delta)
    assert epsilon * (1 - 1e-9) <= total <= epsilon + 0.1
    assert total_epsilon([], delta) == 0.0


@given(some_costs, st.integers(1, 6), st.integers(0, 30))
def test_a_unit_bears_no_more_than_is_booked_wherever_it_lies(costs, unit, start):
    """By brute force: each record of a unit moves a release by mu/g, and all its numbers count."""
    costs = [cost(c.mu, "a", c.first, c.last, numbers=c.numbers, unit=unit) for c in costs]
    records = range(start, start + unit)
    parts = [sum(c.first <= k <= c.last for k in records) / unit for c in costs]
    squared, numbers = load(costs)
    assert sum((part * c.mu) ** 2 for part, c in zip(parts, costs, strict=True)) <= squared + 1e-12
    assert sum(c.numbers for part, c in zip(parts, costs, strict=True) if part) <= numbers


# --- rounds whose noise is correlated -------------------------------------------------------------


def rounds(count, source="a", mu=0.5, unit=1, shift=0):
    """Rounds of one task about ten records each."""
    return [
        cost(mu, source, 10 * k + shift, 10 * k + shift + 9, numbers=7, unit=unit, chain=b"task")
        for k in range(count)
    ]


@pytest.mark.parametrize("unit", [1, 4])
def test_rounds_about_other_records_cost_no_more_than_one(unit):
    assert load(rounds(50, unit=unit)) == load(rounds(1, unit=unit)) == (0.25, 7)


def test_the_numbers_of_independent_rounds_add_up_where_a_unit_straddles():
    alone = [cost(0.5, "a", 10 * k, 10 * k + 9, numbers=7, unit=2) for k in range(50)]
    assert load(alone) == (0.25, 14)


@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=4), st.floats(0.0, 1.0))
def test_a_record_that_several_sources_deliver_moves_a_chain_by_the_sum(costs, other):
    """As the triangle inequality has it: docs/privacy.md, theorem 13."""
    chained = [
        cost(mu, source, 0, 9, chain=b"task") for mu, source in zip(costs, "abcd", strict=False)
    ]
    together = load([*chained, cost(other, "a", 0, 9)])[0]
    assert together >= (sum(costs) ** 2 + other**2) * (1 - 1e-12)
    assert together == pytest.approx(len(costs) * sum(mu**2 for mu in costs) + other**2)
