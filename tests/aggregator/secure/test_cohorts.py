"""When a sum is proposed."""

from __future__ import annotations

from aggregator.secure.cohorts import ripe
from aggregator.store.sealed import Pool
from tests.aggregator.secure.pair import secure_task

SCREENED = {"keep": 1, "limit": 2, "final_norm_factor": 1.2, "records": "fresh", "quorum": 9}
PLAIN = secure_task(4, cohort=4, groups=3)
TASK = secure_task(4, cohort=4, screening=SCREENED)


def test_a_sum_is_proposed_wherever_a_cohort_waits() -> None:
    waiting = {Pool("final", 1, group): count for group, count in enumerate((3, 4, 50))}
    found = ripe(PLAIN, waiting, screened=0, late=False, chosen=False)
    assert [pool.group for pool in found] == [1, 2]


def test_screening_waits_for_its_quorum_or_its_time_and_ends_with_the_active_set() -> None:
    pool = Pool("screening", 1, 0)

    def found(waiting: int, screened: int = 0, late: bool = False, chosen: bool = False) -> bool:
        state = {"screened": screened, "late": late, "chosen": chosen}
        return ripe(TASK, {pool: waiting}, **state) == [pool]

    assert found(9)
    assert not found(8)
    assert found(4, screened=5)
    assert found(4, late=True)
    assert not found(3, screened=6, late=True)
    assert not found(9, chosen=True)
    final = Pool("final", 1, 0)
    assert ripe(TASK, {final: 4}, screened=9, late=False, chosen=True) == [final]
