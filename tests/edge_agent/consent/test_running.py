"""Totals that are told after each release."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.consent.budget import Cost, total_epsilon
from edge_agent.consent.running import running_epsilons

DELTA = 1e-6

some_costs = st.lists(
    st.builds(
        lambda mu, source, first, length, chain: Cost(
            mu=mu,
            numbers=10**6,
            source=source,
            first=first,
            last=first + length,
            unit_records=3,
            chain=chain,
        ),
        st.floats(0.0, 1.0),
        st.sampled_from("ab"),
        st.integers(0, 15),
        st.integers(0, 10),
        st.sampled_from([b"", b"task"]),
    ),
    max_size=8,
)


@given(some_costs)
def test_each_is_the_total_of_all_so_far(costs):
    expected = [total_epsilon(costs[: count + 1], DELTA) for count in range(len(costs))]
    assert list(running_epsilons(costs, DELTA)) == pytest.approx(expected, rel=1e-12)
