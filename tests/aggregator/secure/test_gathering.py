"""A leader that waits opens one large sum, with the noise of both once."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.secure.gathering import Gathering
from aggregator.store.sealed import Pool
from fsir.limits import MOST_IN_COHORT
from fsir.privacy.plan import first_stage
from fsir.task.secure import LEADER
from tests.aggregator.secure.pair import Two, one_hot, sealed, secure_task

TASK = secure_task(6, cohort=4)
STAGE = first_stage(TASK)
POOL = Pool("final", 1, 0)


@pytest.mark.parametrize(("wait", "sums"), [(0.0, 3), (30.0, 1)])
def test_devices_that_trickle_in_share_a_sum_if_the_leader_waits(
    tmp_path: Path, wait: float, sums: int
) -> None:
    two = Two(tmp_path, TASK)
    two.cores[LEADER]._proposing._gathering = Gathering(wait)
    for i in range(12):
        two.send(f"d{i}", sealed(TASK, f"d{i}", one_hot(STAGE, i)))
        two.now += 10.0
        two.tick()
        two.talk()
    two.now += 30.0
    two.tick()
    two.talk()
    cohorts = list(two.store(LEADER).opened_cohorts(1, "final"))
    assert (len(cohorts), sum(row.devices for row in cohorts)) == (sums, 12)


def test_nobody_waits_for_more_than_a_sum_may_hold_or_by_a_clock_set_back() -> None:
    gathering = Gathering(10.0)
    assert gathering.is_over("t", POOL, MOST_IN_COHORT, 0.0)
    assert not gathering.is_over("t", POOL, 5, 1000.0)
    assert not gathering.is_over("t", POOL, 5, 0.0)
    assert not gathering.is_over("t", POOL, 5, 9.0)
    assert gathering.is_over("t", POOL, 5, 10.0)


def test_pools_and_tasks_wait_by_themselves() -> None:
    gathering = Gathering(10.0)
    other = Pool("final", 2, 0)
    assert not gathering.is_over("t", POOL, 5, 0.0)
    assert not gathering.is_over("t", other, 5, 8.0)
    assert not gathering.is_over("u", POOL, 5, 8.0)
    assert gathering.is_over("t", POOL, 5, 12.0)
    assert not gathering.is_over("t", other, 5, 12.0)
