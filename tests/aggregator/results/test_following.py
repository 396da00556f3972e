"""A subspace that follows its federation: versions say how far they moved, and what drifted."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from aggregator.core import Aggregator
from aggregator.monitoring.metrics import Metrics
from aggregator.overview.overview import overview
from aggregator.overview.text import lines
from aggregator.page.parts.growth import growth
from aggregator.page.parts.progress import progress
from aggregator.results.following import follow, history_of, with_movement
from aggregator.store.rows import VersionRow
from fsir.contract import task_from_table
from fsir.estimate.subspace import projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import FINAL, first_stage
from fsir.privacy.release import Release, release
from fsir.privacy.rounds.correlated import round_noise
from fsir.task.task import Task
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace
from tests.aggregator.batches import started, subspace_of
from tests.aggregator.federations import make_task, topic
from tests.fsir.fitted.made import plain

ROUNDS = 8
DEVICES = 6
TASK = make_task(
    p=5,
    classes=2,
    records=400,
    privacy={"epsilon": 8.0},
    report={"records": 400, "rounds": ROUNDS},
    dimension=1,
)


@cache
def released(device: int, round: int, turned: bool) -> Release:
    """What a device releases in a round; the classes differ in the first feature, or the last."""
    rng = np.random.default_rng([device, round])
    slices = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 5))
    X[:, -1 if turned else 0] += 2.0 * slices
    stage = first_stage(TASK)
    moments = Moments(TASK, stage)
    moments.learn_many(X, np.array(TASK.slicing.labels)[slices])
    return release(moments, round_noise(SeededNoise(device), stage, round))


def deliver(made: Aggregator, round: int, *, turned: bool = False, task: Task = TASK) -> None:
    """A round of all devices."""
    for device in range(DEVICES):
        sent = released(device, round, turned)
        report = messages.Report(
            task=task.digest,
            device=f"d{device}",
            stage=FINAL,
            n=sent.n,
            blocks=sent.blocks,
            round=round,
        )
        made.take(topic(task, f"d{device}"), messages.encode(report))
    made.commit(float(round))


def published(made: Aggregator, now: float) -> Subspace:
    return subspace_of(made.estimate(now))


def versions(made: Aggregator) -> list[VersionRow]:
    return made.store.versions(1, 100)


def test_the_history_is_that_of_the_reports(tmp_path: Path) -> None:
    """Totals and patterns alone give what every report by itself gives."""
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, 2)
    deliver(made, 1)
    history = history_of(made.store, made.federations["test"])
    assert history.patterns == {(1, 2): DEVICES}
    assert history.records == {1: 400 * DEVICES, 2: 400 * DEVICES}
    for round in (1, 2):
        wanted = Totals(first_stage(TASK))
        for device in range(DEVICES):
            wanted.add(released(device, round, False))
        assert np.array_equal(history.sums[round], np.concatenate(wanted.blocks))


def test_each_version_says_how_far_it_has_moved_and_nothing_has_drifted(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    before = None
    for round in range(1, ROUNDS + 1):
        deliver(made, round)
        found = published(made, 10.0 * round)
        if before is None:
            assert found.moved is None
        else:
            distance = projection_loss(before.basis, found.basis)
            assert found.moved == pytest.approx(distance / found.expected_error)
        assert not any("drifted" in note for note in found.notes)
        before = found
    rows = versions(made)
    assert [row.round for row in rows] == list(range(1, ROUNDS + 1))
    assert [row.drift for row in rows] == [None] * ROUNDS
    assert [row.moved for row in rows][-1] == found.moved
    assert rows[-1].expected_error < rows[0].expected_error


def test_a_change_that_noise_does_not_explain_is_told_everywhere(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    for round in range(1, ROUNDS + 1):
        deliver(made, round, turned=round > 5)
        published(made, 10.0 * round)
    found = decode(messages.encode(made.estimating.latest["test"]), Subspace)
    (note,) = [note for note in found.notes if "drifted" in note]
    drift = versions(made)[-1].drift
    assert drift == 6
    assert note == "the federation has drifted since about round 6"
    entry = overview(made.store, made.federations["test"], 100.0)
    assert entry["rounds"]["drift_since"] == 6
    assert entry["rounds"]["current"] == entry["rounds"]["of"] == ROUNDS
    assert f"note: {note}" in "\n".join(lines(entry))
    assert max(row.moved or 0.0 for row in versions(made)) > 3.0
    metrics = Metrics(made).shown()[1].decode()
    assert 'fsir_drift_round{task="test"} 6.0' in metrics
    assert f'fsir_round{{task="test"}} {ROUNDS}.0' in metrics
    assert 'fsir_subspace_moved_ratio{task="test"}' in metrics
    assert note in "".join(growth("here", entry))
    assert "6 devices in round 8" in "".join(progress("here", entry))


def test_a_memory_of_all_rounds_says_that_it_keeps_what_has_changed(tmp_path: Path) -> None:
    task = task_from_table(TASK.table() | {"estimate": {"memory": "all"}})
    made = started(tmp_path / "s.db", task, debounce=0.0)
    for round in range(1, ROUNDS + 1):
        deliver(made, round, turned=round > 5, task=task)
    found = follow(made.store, made.federations["test"])
    assert (found.since, found.drift) == (1, 6)
    assert found.notes[0].endswith("; the memory of the task keeps earlier ones")


def test_when_nobody_is_left_there_is_no_subspace(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, 3)
    assert published(made, 10.0).devices == DEVICES
    for device in range(DEVICES):
        made.withdraw(f"d{device}", 11.0)
    (cleared,) = made.estimate(20.0)
    assert cleared.payload == b""
    assert made.estimate(30.0) == []


def test_movement_is_left_out_where_it_is_unknown() -> None:
    first = plain()
    message = first.message
    assert with_movement(first.task, message, None).moved is None
    assert with_movement(first.task, message, message).moved == pytest.approx(0.0, abs=1e-6)
    assert b"moved" not in messages.encode(message)
