"""What several records tell together."""

import itertools

import numpy as np
import pytest

from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.groups import group_cost, habit_cost
from tests.fsir.privacy.rounds.tasks import small_task


def cost(task, counts):
    stage = first_stage(task)
    T = len(counts)
    C = np.array(
        [
            [stage.factorisation.inverse[t - s] if 0 <= t - s < T else 0.0 for s in range(T)]
            for t in range(T)
        ]
    )
    return stage.mu * np.linalg.norm(C @ counts) / stage.factorisation.norm


def test_one_record_costs_what_the_task_says():
    task = small_task(rounds=4)
    assert group_cost(task, 1) == pytest.approx(first_stage(task).mu, rel=1e-8)
    assert group_cost(task, 1, rounds=1) <= group_cost(task, 1)


@pytest.mark.parametrize("records", [2, 3, 5, 7, 9])
def test_no_way_to_spread_a_group_over_rounds_costs_more(records):
    task = small_task(rounds=4, records=3)
    worst = group_cost(task, records)
    spreads = itertools.product(range(4), repeat=4)
    costs = [cost(task, np.array(a)) for a in spreads if sum(a) == records]
    assert max(costs) <= worst * (1 + 1e-9)
    assert max(costs) == pytest.approx(worst, rel=1e-9)


def test_independent_rounds_tell_less_about_a_habit():
    correlated = small_task(rounds=52)
    independent = small_task(rounds=52, privacy={"epsilon": 1, "noise": "independent"})
    mu = first_stage(independent).mu
    assert habit_cost(independent) == pytest.approx(mu * 52**0.5)
    assert habit_cost(correlated) > 3 * mu * 52**0.5
    assert habit_cost(correlated) < 52 * first_stage(correlated).mu
