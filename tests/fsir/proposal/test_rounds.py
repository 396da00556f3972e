"""Rounds as one report about more records."""

from __future__ import annotations

import pytest

from fsir.contract import task_from_table
from fsir.privacy.plan import first_stage
from fsir.proposal.constants import Expectation
from fsir.proposal.rounds import over_rounds
from fsir.task.task import Estimate
from tests.fsir.privacy.rounds.tasks import small_task

ONE = Expectation(devices=20, records=1000, epsilon=1.0)


@pytest.mark.parametrize("rounds", [2, 10, 52])
def test_the_noise_for_each_record_is_that_of_the_rounds_together(rounds):
    task = small_task(rounds)
    table = task.table()
    del table["report"]["rounds"]
    single = first_stage(task_from_table(table)).sums.sd
    stage = first_stage(task)
    total = stage.sums.sd * stage.factorisation.variance([1.0] * rounds) ** 0.5
    found = over_rounds(ONE, rounds)
    assert single / found.records == pytest.approx(total / (rounds * ONE.records), rel=1e-3)
    assert found.rounds == rounds


def test_a_short_memory_is_worth_less_than_a_long_one():
    window = over_rounds(ONE, 52, Estimate(memory="window", span=8))
    independent = over_rounds(ONE, 52, independent=True)
    assert ONE.records < window.records < over_rounds(ONE, 52).records
    assert independent.records == pytest.approx(52**0.5 * ONE.records, rel=1e-3)
