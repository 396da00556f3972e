"""When a report is due, as far as anybody can know."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.page.pace import APART_SECONDS, KEPT_SECONDS, Pace, duration


def watched(points):
    pace = Pace()
    for now, n in points:
        pace.see(n, now)
    return pace


def test_a_steady_pace_is_found():
    pace = watched((float(t), t // 5) for t in range(0, 601, 5))
    assert pace.seconds_until(220, 600.0) == pytest.approx(500.0)
    assert pace.watched(600.0) == 600.0


def test_a_few_seconds_are_not_enough():
    assert watched([(0.0, 1), (5.0, 9)]).seconds_until(100, 5.0) is None
    assert Pace().seconds_until(100, 5.0) is None


def test_without_records_nothing_is_claimed():
    assert watched((float(t), 7) for t in range(100)).seconds_until(100, 100.0) is None


def test_records_that_stop_make_it_later():
    pace = watched([(0.0, 0), (100.0, 50), (1000.0, 50)])
    assert pace.seconds_until(100, 1000.0) == pytest.approx(1000.0)


def test_another_report_starts_anew():
    pace = watched([(0.0, 0), (100.0, 90), (200.0, 3)])
    assert pace.watched(230.0) == 30.0
    assert pace.seconds_until(100, 230.0) is None


def test_what_is_kept_is_bounded_and_the_pace_stays():
    pace = watched((float(t), t) for t in range(0, int(2 * KEPT_SECONDS), 7))
    now = 2 * KEPT_SECONDS
    assert len(pace._points) < 1.2 * KEPT_SECONDS / APART_SECONDS
    assert pace.watched(now) <= KEPT_SECONDS + 120
    assert pace.seconds_until(int(now) + 1000, now) == pytest.approx(1000.0, rel=0.05)


@given(st.floats(0, 1e9))
def test_every_duration_has_words(seconds):
    count, unit = duration(seconds).split()
    sizes = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
    size = sizes[unit.rstrip("s")]
    assert abs(int(count) * size - seconds) <= size / 2
    assert unit.endswith("s") == (count != "1")
