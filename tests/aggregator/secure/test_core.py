"""Whatever is lost, doubled or killed, what two aggregators open is exact, and opened once."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from fsir.privacy.plan import first_stage
from fsir.task.secure import HELPER, LEADER, ROLES
from tests.aggregator.secure.pair import Two, noise_of, one_hot, sealed, secure_task

TASK = secure_task(5, cohort=4)
STAGE = first_stage(TASK)
WIDTH = sum(STAGE.sizes)


def test_what_is_opened_is_the_sum_of_the_integers_and_both_noises_bit_for_bit(
    tmp_path: Path,
) -> None:
    two = Two(tmp_path, TASK)
    rng = np.random.default_rng(1)
    vectors = [rng.integers(-1000, 1000, WIDTH) for _ in range(6)]
    for i, values in enumerate(vectors):
        receipts = two.send(f"d{i}", sealed(TASK, f"d{i}", values))
        assert [receipt.by for receipt in receipts] == [LEADER, HELPER]
        assert {receipt.verdicts["final"].status for receipt in receipts} == {"counted"}
    two.tick()
    two.talk()
    noises = [noise_of(STAGE, role) for role in ROLES]
    assert two.opened()[1, 0, 1].tolist() == (sum(vectors) + sum(noises)).tolist()
    row = two.store(LEADER).totals(1, "final")
    assert (row.devices, row.records) == (6, 600)
    published = two.cores[LEADER].estimate(two.now)
    assert [p.topic.rpartition("/")[2] for p in published] == ["subspace"]
    assert two.cores[HELPER].estimate(two.now) == []


@pytest.mark.parametrize("seed", range(25))
def test_in_any_order_with_losses_doubles_and_crashes_every_report_is_opened_once(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    two = Two(tmp_path, TASK)
    devices = rng.randrange(4, 14)
    reports = {f"d{i}": sealed(TASK, f"d{i}", one_hot(STAGE, i)) for i in range(devices)}
    for _ in range(60):
        _one_step(rng, two, reports)
    for device, raw in reports.items():
        two.send(device, raw)
    for _ in range(6):
        two.tick(10.0)
        two.talk()
    _check(two, reports)


def _one_step(rng: random.Random, two: Two, reports: dict[str, bytes]) -> None:
    """Something happens: a report arrives here or there, words are lost or doubled, a crash."""
    what = rng.random()
    role = rng.choice(ROLES)
    other = LEADER if role == HELPER else HELPER
    if what < 0.5:
        device = rng.choice(list(reports))
        two.send(device, reports[device], (role,))
    elif what < 0.6:
        two.start(role)
    elif what < 0.8:
        two.tick(rng.choice((0.1, 1.0, 5.0)))
    elif two.lines[other]:
        rng.shuffle(two.lines[other])
        said = two.lines[other].pop()
        for _ in range(rng.choice((0, 1, 1, 2))):
            two.give(role, said.topic, said.payload)
        if rng.random() < 0.2:
            two.lines[other].append(said)


def _check(two: Two, reports: dict[str, bytes]) -> None:
    ids = {role: two.opened_ids(role) for role in ROLES}
    assert ids[LEADER] == ids[HELPER]
    cohorts = list(ids[LEADER].values())
    assert all(len(cohort) >= 4 for cohort in cohorts)
    assert sum(map(len, cohorts)) == len(set().union(*cohorts))
    waiting = sum(two.store(LEADER).waiting_shares(1).values())
    assert waiting == sum(two.store(HELPER).waiting_shares(1).values()) < 4
    total = sum(
        values - sum(noise_of(STAGE, role, number=number) for role in ROLES)
        for (_, _, number), values in two.opened().items()
    )
    assert set(np.unique(total)) <= {0, 1}
    assert total.sum() == len(reports) - waiting
    assert two.store(LEADER).totals(1, "final").devices == len(reports) - waiting


def test_a_helper_says_the_same_bytes_whenever_it_is_asked(tmp_path: Path) -> None:
    two = Two(tmp_path, TASK)
    for i in range(5):
        two.send(f"d{i}", sealed(TASK, f"d{i}", one_hot(STAGE, i)))
    two.tick()
    asked = two.lines[LEADER].pop()
    said = []
    for _ in range(3):
        two.give(HELPER, asked.topic, asked.payload)
        said.append(two.lines[HELPER].pop().payload)
        two.start(HELPER)
    two.send("d5", sealed(TASK, "d5", one_hot(STAGE, 5)))
    two.tick()
    again = two.lines[LEADER].pop()
    assert again.payload != asked.payload  # one more waits by now
    two.give(HELPER, again.topic, again.payload)
    said.append(two.lines[HELPER][0].payload)
    assert len(set(said)) == 1
    two.talk()
    assert [len(ids) for ids in two.opened_ids(LEADER).values()] == [5]
    assert two.store(LEADER).waiting_shares(1) == {("final", 1, 0): 1}


def test_no_share_is_left_of_what_was_opened(tmp_path: Path) -> None:
    two = Two(tmp_path, TASK)
    raw = [sealed(TASK, f"d{i}", one_hot(STAGE, i)) for i in range(4)]
    for i in range(4):
        two.send(f"d{i}", raw[i])
    two.tick()
    two.talk()
    for role in ROLES:
        assert two.store(role)._db.execute("SELECT raw FROM report").fetchall() == [(b"",)] * 4
        assert two.send("d0", raw[0], (role,))[0].verdicts["final"].status == "duplicate"
        assert two.store(role).waiting_shares(1) == {}


def test_fewer_than_a_cohort_are_never_opened(tmp_path: Path) -> None:
    two = Two(tmp_path, TASK)
    for i in range(3):
        two.send(f"d{i}", sealed(TASK, f"d{i}", one_hot(STAGE, i)))
    two.tick()
    assert not any(two.lines.values())
    two.send("d3", sealed(TASK, "d3", one_hot(STAGE, 3)), (LEADER,))
    two.tick()
    two.talk()  # the helper has three of them
    assert two.opened() == {}
    assert two.opened_ids(HELPER) == {}
