"""A device can be taken out at either aggregator until its report is opened, and not afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator import merging
from aggregator.store.errors import StoreError
from fsir.privacy.plan import first_stage
from fsir.task.secure import HELPER, LEADER, ROLES
from tests.aggregator.secure.pair import Two, noise_of, one_hot, sealed, secure_task

TASK = secure_task(4, cohort=4)
STAGE = first_stage(TASK)


@pytest.fixture
def two(tmp_path: Path) -> Two:
    made = Two(tmp_path, TASK)
    for i in range(5):
        made.send(f"d{i}", sealed(TASK, f"d{i}", one_hot(STAGE, i)))
    return made


@pytest.mark.parametrize("role", ROLES)
def test_who_is_taken_out_at_one_of_them_is_in_no_sum(two: Two, role: str) -> None:
    assert two.cores[role].withdraw("d2", two.now) == 1
    two.tick()
    two.talk()
    plain = two.opened()[1, 0, 1] - sum(noise_of(STAGE, each) for each in ROLES)
    assert plain[:6].tolist() == [1, 1, 0, 1, 1, 0]
    told = [p.topic for p in two.told if p.topic.endswith(("/d2", "/d2/helper"))]
    assert told[-1].endswith("/helper") == (role == HELPER)
    kept = two.store(role)._db.execute("SELECT raw FROM report WHERE device = 'd2'").fetchall()
    assert kept == [(None,)]


def test_what_was_opened_cannot_be_taken_out(two: Two) -> None:
    two.tick()
    two.talk()
    for role in ROLES:
        with pytest.raises(StoreError, match="nobody knows any more what was in them"):
            two.cores[role].withdraw("d2", two.now)
        assert two.store(role).withdrawn(1) == set()


def test_what_is_being_opened_waits_for_the_answer(two: Two) -> None:
    two.tick()
    with pytest.raises(StoreError, match="may have done so"):
        two.cores[LEADER].withdraw("d2", two.now)
    two.lines[LEADER].clear()  # the proposal is lost
    assert two.cores[HELPER].withdraw("d2", two.now) == 1
    two.tick()
    two.talk()
    assert [len(ids) for ids in two.opened_ids(LEADER).values()] == [4]
    assert two.cores[LEADER].withdraw("d2", two.now) == 1  # the helper has answered without it


def test_who_is_let_in_again_may_send_the_same_report_and_no_other(two: Two) -> None:
    raw = sealed(TASK, "d9", one_hot(STAGE, 9))
    two.send("d9", raw)
    for role in ROLES:
        two.cores[role].withdraw("d9", two.now)
        merging.readmit(two.store(role), two.cores[role].federations[TASK.name], "d9")
    for receipt in two.send("d9", sealed(TASK, "d9", one_hot(STAGE, 9))):
        assert receipt.verdicts["final"].reason.startswith("second report")
    for receipt in two.send("d9", raw):
        assert receipt.verdicts["final"].status == "counted"
    two.tick()
    two.talk()
    assert two.opened()[1, 0, 1][9] - sum(noise_of(STAGE, r)[9] for r in ROLES) == 1
