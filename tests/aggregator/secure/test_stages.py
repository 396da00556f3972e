"""Screening, groups and rounds: everything behind it works on opened sums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aggregator.overview.overview import overview
from aggregator.results.following import follow
from aggregator.store.sealed import Pool
from fsir.arrays import Integers
from fsir.contract import task_from_table
from fsir.errors import TaskError
from fsir.privacy.noise import SeededNoise, SystemNoise
from fsir.privacy.plan import Stage, final_stage, first_stage
from fsir.privacy.rounds.correlated import round_noise
from fsir.secure.groups import group_of
from fsir.secure.opening import aggregator_noise
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Subspace, encode, topic
from tests.aggregator.federations import release_of
from tests.aggregator.secure.pair import Two, noise_of, sealed, secure_task

SCREENED = {"keep": 2, "limit": 3, "final_norm_factor": 1.2, "records": "fresh", "quorum": 6}


def released(task: Task, stage: Stage, seed: int) -> Integers:
    return np.concatenate(release_of(task, stage, seed).blocks)


def published(two: Two, kind: str) -> list[bytes]:
    place = topic(two.task.name, kind)
    return [p.payload for p in two.told if p.topic == place]


def test_screening_and_final_stage(tmp_path: Path) -> None:
    sections = {"privacy": {"epsilon": 4.0}, "report": {"records": 500}}
    task = secure_task(8, cohort=4, screening=SCREENED, **sections)
    two = Two(tmp_path, task)
    for i in range(6):
        raw = sealed(task, f"d{i}", released(task, first_stage(task), i))
        two.send(f"d{i}", raw)
    two.tick()
    two.talk()
    (raw_active,) = published(two, "active")
    active = decode(raw_active, Active)
    assert active.devices == 6
    stage = final_stage(task, task.features.indices(active.features))
    reports = {
        f"d{i}": sealed(task, f"d{i}", released(task, stage, i), stage=stage) for i in range(5)
    }
    early = two.send("d0", reports["d0"])
    assert early[0].verdicts["final"].status == "counted"
    assert early[1] is None  # the helper does not know the active set yet, and says nothing
    two.give(HELPER, topic(task.name, "active"), raw_active)
    two.start(HELPER)
    for device, raw in reports.items():
        statuses = [r.verdicts["final"].status for r in two.send(device, raw)]
        assert statuses[1] == "counted"
    two.tick()
    two.talk()
    two.keep(LEADER, two.cores[LEADER].estimate(two.now))
    subspace = decode(published(two, "subspace")[-1], Subspace)
    assert (subspace.devices, subspace.features) == (5, active.features)
    assert not [p for p in two.told if p.topic.endswith(("/subspace", "/active")) and not p.payload]


def test_another_active_set_does_not_replace_that_of_the_helper(tmp_path: Path) -> None:
    two = Two(tmp_path, secure_task(8, cohort=4, screening=SCREENED))
    place = topic(two.task.name, "active")
    first = encode(Active(two.task.digest, ("x1", "x2"), 6))
    for raw in (
        b"garbage",
        encode(Active(bytes(32), ("x1",), 6)),
        encode(Active(two.task.digest, ("y",), 6)),
        first,
        encode(Active(two.task.digest, ("x3",), 6)),
    ):
        two.give(HELPER, place, raw)
    two.start(HELPER)
    assert two.cores[HELPER].federations[two.task.name].active == first


def test_groups_are_opened_one_by_one_and_trimmed(tmp_path: Path) -> None:
    task = secure_task(4, cohort=3, groups=3)
    stage = first_stage(task)
    two = Two(tmp_path, task)
    sums = {group: np.zeros(sum(stage.sizes), np.int64) for group in range(3)}
    for i in range(30):
        values = released(task, stage, i)
        sums[group_of(task.digest, f"d{i}", 3)] += values
        two.send(f"d{i}", sealed(task, f"d{i}", values))
    two.tick()
    two.talk()
    for group, total in sums.items():
        noise = sum(noise_of(stage, role, group=group) for role in ROLES)
        assert two.opened()[1, group, 1].tolist() == (total + noise).tolist()
    two.keep(LEADER, two.cores[LEADER].estimate(two.now))
    assert decode(published(two, "subspace")[-1], Subspace).devices == 30


def test_rounds_have_noise_that_hangs_together(tmp_path: Path) -> None:
    task = secure_task(4, cohort=3, report={"records": 100, "rounds": 4})
    stage = first_stage(task)
    assert len(stage.factorisation.coefficients) == 4
    two = Two(tmp_path, task)
    for round_ in (1, 2, 3):
        total = np.zeros(sum(stage.sizes), np.int64)
        for i in range(4):
            values = released(task, stage, 10 * round_ + i)
            total += values
            two.send(f"d{i}", sealed(task, f"d{i}", values, round_=round_))
        two.tick()
        two.talk()
        noise = sum(noise_of(stage, role, round_=round_) for role in ROLES)
        assert two.opened()[round_, 0, 1].tolist() == (total + noise).tolist()
        two.start(HELPER)
    two.keep(LEADER, two.cores[LEADER].estimate(two.now))
    made = decode(published(two, "subspace")[-1], Subspace)
    assert made.devices == 4
    federation = two.cores[LEADER].federations[task.name]
    entry = overview(two.store(LEADER), federation, two.now, recount=True)
    assert entry["stages"]["final"] == {"devices": 4, "records": 1200, "recount": True}
    assert [pool["opened"] for pool in entry["cohorts"]["pools"]] == [4, 4, 4]


def test_the_noise_of_rounds_comes_from_a_key_that_is_kept_and_grows(tmp_path: Path) -> None:
    task = secure_task(4, cohort=3, report={"records": 100, "rounds": 4})
    stage = first_stage(task)
    two = Two(tmp_path, task, seeded=False)
    before = dict.fromkeys(ROLES, b"")
    for round_ in (1, 3, 2):  # a round may be late
        zeros = np.zeros(sum(stage.sizes), np.int64)
        for i in range(3):
            two.send(f"d{i}", sealed(task, f"d{i}", zeros, round_=round_))
        two.tick()
        two.talk()
        noises = []
        for role in ROLES:
            key = two.store(role).noise_key(1, Pool("final", round_, 0), 1)
            assert key.startswith(before[role])
            before[role] = key
            drawn = round_noise(SystemNoise(), stage, round_, key)
            noises.append(aggregator_noise(stage, drawn))
            two.start(role)
        assert two.opened()[round_, 0, 1].tolist() == sum(noises).tolist()
    assert [len(key) for key in before.values()] == [96, 96]
    assert before[LEADER] != before[HELPER]


def test_the_noise_of_opened_rounds_is_that_of_devices_and_aggregators(tmp_path: Path) -> None:
    """4 devices and two aggregators with the noise of 3 devices each, all with the same rounds."""
    task = secure_task(4, cohort=3, report={"records": 100, "rounds": 2})
    stage = first_stage(task)
    two = Two(tmp_path, task)
    for round_ in (1, 2):
        for i in range(4):
            values = np.concatenate(
                [
                    round_noise(SeededNoise(i), stage, round_).perturb(
                        np.zeros(block.size), block.sd / block.unit, block.step
                    )
                    for block in stage.blocks
                ]
            )
            two.send(f"d{i}", sealed(task, f"d{i}", values, round_=round_))
        two.tick()
        two.talk()
    found = follow(two.store(LEADER), two.cores[LEADER].federations[task.name])
    b = stage.factorisation.coefficients
    exact = 10.0 * (b[0] ** 2 + (b[0] + b[1]) ** 2)
    assert found.totals.devices == 4
    assert found.totals.noises == pytest.approx(exact, rel=0.05)


def test_groups_are_trimmed_and_so_exclude_rounds() -> None:
    table = secure_task(4, groups=3).table()
    table["report"]["rounds"] = 3
    with pytest.raises(TaskError, match="groups"):
        task_from_table(table)
