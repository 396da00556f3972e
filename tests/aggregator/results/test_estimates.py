"""The subspace: when it has changed, with a pause, by one worker; cleared when nobody is left."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggregator.publication import Publication
from aggregator.results import estimates
from aggregator.store.base import Store
from aggregator.store.errors import StoreBusyError
from fsir.contract import task_from_table
from fsir.estimate.forecast import forecast
from fsir.estimate.subspace import angles
from tests.aggregator.batches import deliver, kinds, started, subspace_of
from tests.aggregator.federations import make_task

TASK = make_task(p=3, records=60)
TRIMMED = make_task(p=3, records=60, aggregation="trimmed")
K = 9


def test_the_subspace_follows_the_reports_with_a_pause(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=10.0)
    assert made.estimate(0.0) == []
    deliver(made, TASK, range(3), 1.0)
    assert made.estimate(5.0) == []  # too early
    first = subspace_of(made.estimate(10.0))
    deliver(made, TASK, range(3, 5), 11.0)
    assert made.estimate(12.0) == []
    second = subspace_of(made.estimate(20.0))
    assert (first.version, first.devices, first.records) == (1, 3, 180)
    assert (second.version, second.devices, second.records) == (2, 5, 300)
    assert made.estimate(30.0) == []  # nothing new


def test_nobody_waits_for_more_than_are_expected(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=10.0, expected=4)
    assert made.estimate(0.0) == []
    deliver(made, TASK, range(3), 1.0)
    assert made.estimate(2.0) == []  # one is missing
    deliver(made, TASK, range(3, 4), 3.0)
    assert subspace_of(made.estimate(4.0)).devices == 4
    assert made.estimate(5.0) == []  # nothing new


def test_only_one_of_two_workers_publishes_a_version(tmp_path: Path) -> None:
    first = started(tmp_path / "s.db", TASK, debounce=0.0)
    second = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(first, TASK, range(3))
    (job,) = first.jobs(2.0)
    (same,) = second.jobs(2.0)
    assert len(first.estimating.publish(job, job.run(), 2.0)) == 1
    assert second.estimating.publish(same, same.run(), 2.0) == []


def test_an_estimate_that_fails_is_not_repeated_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, TASK, range(3), 1.0)

    def fails(*_: Any, **__: Any) -> None:
        raise np.linalg.LinAlgError("does not converge")

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(estimates.subspace, "estimate", fails)
        assert made.estimate(2.0) == []
        assert made.estimate(3.0) == []
    assert caplog.text.count("the estimate from 3 devices failed") == 1
    deliver(made, TASK, range(3, 4), 4.0)
    assert kinds(made.estimate(5.0)) == ["subspace"]


def test_when_everybody_is_withdrawn_the_retained_subspace_is_cleared(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, TASK, range(1), 1.0)
    made.estimate(2.0)
    made.withdraw("d0", 3.0)
    assert made.estimate(4.0) == [Publication("fsir/1/test/subspace", b"")]
    assert made.estimating.latest == {}  # for the metrics, too
    assert made.estimate(5.0) == []
    deliver(made, TASK, range(1, 2), 6.0)
    subspace = subspace_of(made.estimate(7.0))
    assert (subspace.version, subspace.devices) == (3, 1)


# --- trimmed --------------------------------------------------------------------------------------


def test_an_estimate_that_overtakes_its_job_is_repeated_and_nothing_is_lost(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TRIMMED, debounce=0.0)
    deliver(made, TRIMMED, range(K))
    (job,) = made.jobs(1.0)
    deliver(made, TRIMMED, range(K, K + 3))
    with ThreadPoolExecutor(1) as elsewhere:  # as the daemon does
        result = elsewhere.submit(job.run).result()
    assert result is not None
    assert result.subspace.devices == K + 3
    made.estimating.publish(job, result, 2.0)
    again = subspace_of(made.estimate(13.0))
    assert (again.version, again.basis.tobytes()) == (2, result.subspace.basis.tobytes())
    assert made.estimate(14.0) == []


@pytest.mark.parametrize(("aggregation", "pause"), [("sum", 0.0), ("trimmed", 30.0)])
def test_trimming_takes_a_tenth_of_the_time(tmp_path: Path, aggregation: str, pause: float) -> None:
    task = task_from_table(TASK.table() | {"aggregation": aggregation})
    made = started(tmp_path / "s.db", task, debounce=0.0)
    deliver(made, task, range(K))
    (job,) = made.jobs(100.0)
    made.estimating.publish(job, job.run(), 103.0)  # it took three seconds
    deliver(made, task, range(K, K + 1))
    assert bool(made.estimate(129.0)) == (pause == 0.0)
    assert bool(made.estimate(130.0)) == (pause > 0.0)


def test_a_store_that_cannot_be_read_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = started(tmp_path / "s.db", TRIMMED, debounce=0.0)
    deliver(made, TRIMMED, range(K))

    @contextmanager
    def busy() -> Iterator[Store]:
        raise StoreBusyError("the disk is gone")
        yield made.store

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(made.store, "snapshot", busy)
        assert made.estimate(2.0) == []
    assert "the disk is gone" in caplog.text
    assert len(made.estimate(3.0)) == 1


def test_without_any_report_left_there_is_no_subspace(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TRIMMED, debounce=0.0)
    deliver(made, TRIMMED, range(1))
    made.estimate(2.0)
    made.withdraw("d0", 3.0)
    assert [p.payload for p in made.estimate(4.0)] == [b""]


def test_the_history_has_every_version_and_how_far_it_has_turned(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    subspaces = []
    for k in range(4):
        deliver(made, TASK, range(3 * k, 3 * k + 3), 10.0 * k)
        subspaces.append(subspace_of(made.estimate(10.0 * k + 5.0)))
    rows = made.store.versions(1, 100)
    assert [row.version for row in rows] == [1, 2, 3, 4]
    assert [row.devices for row in rows] == [3, 6, 9, 12]
    assert [row.at for row in rows] == [5.0, 15.0, 25.0, 35.0]
    assert [row.expected_error for row in rows] == [one.expected_error for one in subspaces]
    assert rows[0].angle is None
    for row, before, after in zip(rows[1:], subspaces, subspaces[1:], strict=False):
        assert row.angle == pytest.approx(float(angles(before.basis, after.basis).max()))
    ahead = forecast(TASK, made.federations["test"].totals(made.store.totals(1, "final")))
    assert ahead is not None
    assert rows[-1].forecast_error == ahead.expected_error
    assert rows[-1].forecast_accuracy == ahead.expected_accuracy


def test_after_everybody_was_withdrawn_nothing_is_turned_from(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, TASK, range(1), 1.0)
    made.estimate(2.0)
    made.withdraw("d0", 3.0)
    made.estimate(4.0)
    deliver(made, TASK, range(1, 2), 6.0)
    made.estimate(7.0)
    assert [(row.version, row.angle) for row in made.store.versions(1, 10)] == [
        (1, None),
        (3, None),
    ]


def test_a_forecast_that_fails_keeps_no_subspace_from_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, TASK, range(3), 1.0)

    def fails(*_: Any) -> None:
        raise np.linalg.LinAlgError("does not converge")

    monkeypatch.setattr(estimates, "forecast", fails)
    with caplog.at_level(logging.ERROR):
        assert kinds(made.estimate(2.0)) == ["subspace"]
    assert "the forecast failed" in caplog.text
    (row,) = made.store.versions(1, 10)
    assert row.forecast_error is None
