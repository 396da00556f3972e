"""What any hundred records tell together, and the owner's cap on it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from edge_agent.consent.admission import groups_of
from edge_agent.consent.groups import group_epsilon
from edge_agent.consent.planned import planned_groups
from edge_agent.consent.policy import GROUP_RECORDS, Policy
from fsir.privacy import accounting
from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.groups import group_cost
from tests.edge_agent.learning.rounds import PATIENT, answered, learn_block, several
from tests.edge_agent.world import simulated
from tests.fsir.tasks import screened, task

DELTA = 1e-6


def mu_of(groups, records):
    return math.sqrt(sum(group.mu(records) ** 2 for group in groups))


@pytest.mark.parametrize("unit", [1, 5])
def test_a_group_in_one_large_report_costs_so_many_times_a_record(unit):
    of = task(privacy={"unit_records": unit})
    groups = planned_groups(of)
    assert mu_of(groups, 100) == pytest.approx(100 * first_stage(of).mu / unit)
    assert mu_of(groups, 1) == pytest.approx(first_stage(of).mu / unit)


def test_both_stages_count():
    one = mu_of(planned_groups(screened()), 1)
    assert one == pytest.approx(accounting.mu_of(1.0, DELTA), rel=1e-3)


def test_small_reports_hold_only_part_of_a_group():
    of = several(50, records=4)
    groups = planned_groups(of)
    assert mu_of(groups, 100) == pytest.approx(group_cost(of, 100))
    assert mu_of(groups, 100) < 100 * first_stage(of).mu


def test_rounds_that_were_made_are_part_of_what_was_promised():
    of = several(5, records=4)
    agent = simulated(of, policy=PATIENT)
    before = group_epsilon(planned_groups(of), 10, DELTA)
    for step in range(5):
        learn_block(agent)
        answered(agent, float(step))
        groups = groups_of(agent.state.ledger(), [(of, "memory")])
        assert group_epsilon(groups, 10, DELTA) == pytest.approx(before, rel=1e-9)


def test_the_ledger_alone_never_says_less_than_the_task():
    """Of a task that is forgotten only its rows are known."""
    of = several(5, records=4)
    agent = simulated(of, policy=PATIENT)
    for step in range(5):
        learn_block(agent)
        answered(agent, float(step))
    assert mu_of(groups_of(agent.state.ledger()), 20) >= group_cost(of, 20)


def test_the_owner_caps_what_a_hundred_records_tell():
    of = task(privacy={"epsilon": 0.1})
    told = group_epsilon(planned_groups(of), GROUP_RECORDS, DELTA)
    assert 10 < told < 30
    assert Policy(epsilon_for_100_records=told * 1.01).refusals(of) == []
    (reason,) = Policy(epsilon_for_100_records=told * 0.99).refusals(of)
    assert "any 100 records together" in reason
    assert "epsilon_for_100_records" in reason


def test_what_was_told_before_counts():
    first = task(privacy={"epsilon": 0.1})
    second = replace(first, epoch=2)
    told = group_epsilon(planned_groups(first), GROUP_RECORDS, DELTA)
    policy = Policy(epsilon_for_100_records=told * 1.01)
    agent = simulated(first, policy=policy)
    learn_block(agent)
    answered(agent, 1.0)
    agent.state.forget(first.name, unpin=True)
    again = simulated(second, state=agent.state, policy=policy)
    assert "any 100 records together" in again.reason


def test_a_task_that_asks_for_more_rounds_than_the_owner_allows_is_refused_with_the_remedy():
    of = several(52)
    (reason,) = Policy().refusals(of)
    assert "it asks for 52 rounds of reports" in reason
    assert "rounds = 52" in reason
    assert Policy(rounds=52).refusals(of) == []
    agent = simulated(of)
    assert "the owner allows 1" in agent.reason
