"""What several records tell together."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from fsir.privacy.accounting import epsilon_of
from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.groups import group_cost, habit_cost
from tests.fsir.privacy.rounds.tasks import small_task

DOCS = Path(__file__).parents[4] / "docs"
TABLE = {
    "one record": ("correlated", lambda task: group_cost(task, 1)),
    "ten records": ("correlated", lambda task: group_cost(task, 10)),
    "a hundred records": ("correlated", lambda task: group_cost(task, 100)),
    "a habit: one record in each round": ("correlated", habit_cost),
    "the same, independent noise": ("independent", habit_cost),
}


def columns(task, T):
    c = np.append(first_stage(task).factorisation.inverse, np.zeros(T))
    return np.array([[c[t - s] if t >= s else 0.0 for s in range(T)] for t in range(T)])


def cost(task, counts):
    stage = first_stage(task)
    moved = columns(task, len(counts)) @ counts
    return stage.mu * np.linalg.norm(moved) / stage.factorisation.norm


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


@pytest.mark.parametrize("span", [2, 3])
@pytest.mark.parametrize("records", [1, 2, 5, 9])
def test_in_a_window_no_group_costs_more_whatever_its_records_are(span, records):
    """Coefficients below zero: records of later blocks may move theirs the other way."""
    task = small_task(rounds=4, records=3, estimate={"memory": "window", "span": span})
    spreads = [a for a in itertools.product(range(-3, 4), repeat=4) if np.abs(a).sum() == records]
    costs = [cost(task, np.array(a)) for a in spreads]
    assert max(costs) <= group_cost(task, records) * (1 + 1e-9)
    assert max(costs) > 0.8 * group_cost(task, records)


def test_in_a_window_a_habit_costs_little_less_than_the_bound():
    task = small_task(rounds=52, estimate={"memory": "window", "span": 8})
    signs = np.sign(np.linalg.svd(columns(task, 52))[2])
    costs = [cost(task, counts) for counts in [np.ones(52), *signs]]
    assert 0.95 * habit_cost(task) < max(costs) <= habit_cost(task)


def test_a_window_that_spans_all_rounds_costs_what_all_rounds_do():
    rounds = 6
    wide = small_task(rounds=rounds, estimate={"memory": "window", "span": rounds})
    every = small_task(rounds=rounds)
    assert group_cost(wide, 250) == pytest.approx(group_cost(every, 250))
    assert habit_cost(wide) == pytest.approx(habit_cost(every))


def test_independent_rounds_tell_less_about_a_habit():
    correlated = small_task(rounds=52)
    independent = small_task(rounds=52, privacy={"epsilon": 1, "noise": "independent"})
    mu = first_stage(independent).mu
    assert habit_cost(independent) == pytest.approx(mu * 52**0.5)
    assert habit_cost(correlated) > 3 * mu * 52**0.5
    assert habit_cost(correlated) < 52 * first_stage(correlated).mu


@pytest.mark.parametrize("name", TABLE)
def test_the_table_for_owners_is_rounded_up_from_what_groups_cost(name):
    text = (DOCS / "privacy.md").read_text()
    start = text.index("| rounds | 1 |")
    rows = [line.strip("| ").split(" | ") for line in text[start:].split("\n\n")[0].splitlines()]
    figures = {row[0]: row[1:] for row in rows}
    noise, cost_of = TABLE[name]
    for rounds, figure in zip(figures["rounds"], figures[name], strict=True):
        several = {"noise": noise} if int(rounds) > 1 else {}
        task = small_task(rounds=int(rounds), privacy={"epsilon": 1, **several})
        exact = epsilon_of(cost_of(task), 1e-6)
        assert exact <= float(figure) * (1 + 1e-6) <= exact * 1.01
