"""How far: who is expected, how fast reports come, and what is waited for, at every moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggregator.core import Aggregator
from aggregator.overview.devices import counts
from aggregator.overview.progress import EXPECT, progress, rate
from tests.aggregator.batches import deliver, started
from tests.aggregator.federations import make_task, report, screening_task, topic

TASK = make_task(p=3, records=60)


def of(made: Aggregator, now: float = 100.0) -> dict[str, Any]:
    (federation,) = made.federations.values()
    return progress(made.store, federation, counts(made.store, federation), now)


def test_it_waits_for_a_report_then_for_its_estimate_then_for_nothing(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    assert of(made)["waits_for"] == {"code": "first report", "text": "the first report"}
    deliver(made, TASK, range(2))
    assert of(made)["waits_for"]["code"] == "estimate"
    made.estimate(2.0)
    assert of(made)["waits_for"] == {"code": "nothing", "text": "nothing"}
    made.withdraw("d0", 3.0)
    assert of(made)["waits_for"]["code"] == "estimate"
    made.withdraw("d1", 3.0)
    made.estimate(4.0)
    assert of(made)["waits_for"]["code"] == "first report"


def test_a_task_that_screens_waits_for_its_quorum_and_says_how_many_are_missing(
    tmp_path: Path,
) -> None:
    task = screening_task(quorum=3, wait_seconds=500.0)
    made = started(tmp_path / "s.db", task, debounce=0.0)
    assert of(made)["waits_for"]["text"] == "the first screening report"
    deliver(made, task, range(2))
    found = of(made)
    assert (found["expected"], found["expected_from"], found["missing"]) == (3, "quorum", 1)
    assert found["waits_for"]["code"] == "quorum"
    assert "1 more screening report(s) (2 of 3)" in found["waits_for"]["text"]
    assert "until 1970-01-01T00:08:21+00:00" in found["waits_for"]["text"]
    deliver(made, task, range(2, 3))
    made.jobs(1.0)
    found = of(made)
    assert found["waits_for"] == {"code": "first report", "text": "the first final report"}
    # Whoever was screened is expected again.
    assert (found["stage"], found["counted"]) == ("final", 0)
    assert (found["expected"], found["expected_from"], found["missing"]) == (3, "screening", 3)
    stage = made.federations[task.name].layouts["final"].stage
    made.take(topic(task, "d0"), report(task, "d0", 9, stage))
    made.commit(5.0)
    made.estimate(6.0)
    assert of(made)["waits_for"]["text"] == "the reports of 2 more device(s)"


def test_a_quorum_without_a_feature_that_stands_out_is_said(tmp_path: Path) -> None:
    task = screening_task("votes", quorum=2)
    made = started(tmp_path / "s.db", task)
    for i in range(2):
        votes = np.zeros((task.p, task.slicing.count), bool)
        made.take(topic(task, f"d{i}"), report(task, f"d{i}", i, votes=votes))
    made.commit(1.0)
    assert of(made)["waits_for"]["code"] == "active set"


def test_the_roster_goes_before_what_serve_was_told(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, TASK, range(4))
    assert (of(made)["expected"], of(made)["missing"]) == (None, None)
    made.store.put_setting(EXPECT, "10")
    found = of(made)
    assert (found["expected"], found["expected_from"], found["missing"]) == (10, "--expect", 6)
    made.store.enrol("test", ["d0", "d1", "z1", "z2", "z3"], 1.0)
    made.withdraw("z3", 2.0)
    found = of(made)
    # Of those on the roster: d2 and d3 are counted, and nobody has waited for them.
    assert (found["expected"], found["expected_from"], found["missing"]) == (4, "roster", 2)


@pytest.mark.parametrize("count", [2, 5, 19, 20, 21, 400])
@pytest.mark.parametrize("pause", [1.0, 60.0, 900.0])
def test_steady_reports_have_the_rate_at_which_they_come(count: int, pause: float) -> None:
    times = [k * pause for k in range(count)]
    now = times[-1]
    newest = times[::-1][:20]
    in_last_hour = sum(at > now - 3600.0 for at in times)
    per_hour, over = rate(newest, in_last_hour, times[0], now)
    assert per_hour == pytest.approx(3600.0 / pause, rel=0.05)
    assert over is not None


def test_the_rate_falls_while_nothing_comes_and_is_gone_after_a_day() -> None:
    newest = [100.0, 50.0, 0.0]
    rates = [rate(newest, 0, 0.0, now)[0] for now in (200.0, 2000.0, 20_000.0)]
    assert rates == sorted(rates, reverse=True)
    assert rate(newest, 0, 0.0, 90_000.0) == (None, None)


@pytest.mark.parametrize("now", [0.0, 50.0, 100.0])
def test_a_clock_that_was_set_back_gives_no_rate_or_a_positive_one(now: float) -> None:
    per_hour, _ = rate([100.0, 100.0], 2, 100.0, now)
    assert per_hour is None


def test_time_to_go_is_what_is_missing_at_this_rate(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK)
    made.store.put_setting(EXPECT, "10")
    for i in range(5):
        deliver(made, TASK, range(i, i + 1), 100.0 * i)
    found = of(made, 400.0)
    assert found["per_hour"] == pytest.approx(36.0)
    assert found["to_go_seconds"] == pytest.approx(500.0)
    assert found["last_at"] == "1970-01-01T00:06:40+00:00"
