"""Rounds under random faults: full disks, denied commits, deaths between any two writes."""

from __future__ import annotations

import pytest

from tests.edge_agent.learning.rounds import drawn_keys
from tests.edge_agent.learning.schedules import ROUNDS, Schedule, check_reports


@pytest.mark.usefixtures("either_state")
@pytest.mark.parametrize(
    "seeds",
    [range(48), pytest.param(range(48, 248), marks=pytest.mark.slow)],
    ids=["some", "many"],
)
def test_no_round_is_lost_or_doubled_whatever_happens_in_between(seeds):
    made = 0
    for seed in seeds:
        schedule = Schedule(seed)
        with drawn_keys() as keys:
            schedule.run()
        task = schedule.task
        _, finals = check_reports(schedule, keys, seed)
        made += len(finals)
        if task.report.start is None:
            assert finals == list(range(1, ROUNDS + 1)), seed
            assert not schedule.state.keys.of(task.digest)
        else:
            assert finals == sorted(set(finals)), seed
    assert made > 2 * len(seeds)
