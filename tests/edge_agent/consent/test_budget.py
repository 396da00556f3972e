"""Composition over a ledger: mu^2 adds up where records overlap, and only there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.consent.budget import Cost, total_epsilon, total_mu
from fsir.privacy import accounting

costs = st.lists(
    st.builds(
        lambda mu, source, first, length: Cost(mu, 10, source, first, first + length),
        st.floats(0.0, 3.0), st.sampled_from("ab"), st.integers(0, 15), st.integers(0, 10),
    ),
    max_size=8,
)  # fmt: skip


@given(costs)
def test_the_total_is_that_of_the_record_that_is_worst_off(found):
    """By brute force: the worst record of each source, and both together, because they may be the same person's."""
    worst = {
        source: max(
            (
                sum(c.mu**2 for c in found if c.source == source and c.first <= k <= c.last)
                for k in range(30)
            ),
            default=0,
        )
        for source in "ab"
    }
    assert total_mu(found) == pytest.approx(math.sqrt(worst["a"] + worst["b"]))


@given(costs, costs)
def test_more_releases_never_cost_less(some, more):
    assert total_mu(some + more) >= total_mu(some) * (1 - 1e-12)


def test_disjoint_intervals_cost_the_larger_one():
    assert total_mu([Cost(0.3, 0, "a", 0, 99), Cost(0.2, 0, "a", 100, 199)]) == pytest.approx(0.3)
    assert total_mu([Cost(0.3, 0, "a", 0, 99), Cost(0.4, 0, "a", 99, 199)]) == pytest.approx(0.5)
    assert total_mu([Cost(0.3, 0, "a", 0, 99), Cost(0.4, 0, "b", 500, 600)]) == pytest.approx(0.5)


def test_an_unproven_release_makes_the_total_infinite_only_where_it_was_made():
    leak = Cost(math.inf, 10, "a", 0, 99)
    assert total_epsilon([leak], 1e-6) == math.inf
    assert total_epsilon([leak, Cost(0.1, 10, "a", 50, 60)], 1e-6) == math.inf


@given(st.floats(0.05, 5.0), st.floats(1e-9, 1e-3), st.integers(0, 5000))
def test_epsilon_pays_for_the_sampler_too(epsilon, delta, numbers):
    mu = accounting.mu_of(epsilon, delta)
    total = total_epsilon([Cost(mu, numbers, "a", 0, 9)], delta)
    assert epsilon * (1 - 1e-9) <= total <= epsilon + 0.1
    assert total_epsilon([], delta) == 0.0
