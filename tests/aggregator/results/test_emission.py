"""A version for some growth, for the end of an intake, and for each change of few devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.core import Aggregator
from aggregator.results.emission import (
    DEFAULT,
    LONGEST_SECONDS,
    QUIET_SECONDS,
    SMALL_DEVICES,
    Emission,
    Shown,
)
from fsir.errors import FsirError
from tests.aggregator.batches import deliver, started, subspace_of
from tests.aggregator.federations import make_task

TASK = make_task(p=3, records=60)
RULE = Emission.parse(DEFAULT)
MANY = 10 * SMALL_DEVICES


@pytest.mark.parametrize("text", ["", "growth", "growth:5", "growth:-5%", "seconds:x", "5%"])
def test_what_is_no_rule_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(FsirError, match="growth:5%, or seconds:60"):
        Emission.parse(text)


def test_a_small_federation_sees_each_change_and_a_large_one_its_growth() -> None:
    busy = 1000.0  # reports come in all the time
    assert RULE.due(Shown(SMALL_DEVICES - 1, 999.0), SMALL_DEVICES, busy, busy)
    large = Shown(MANY, 999.0)
    assert not RULE.due(large, MANY + MANY // 25, busy, busy)
    assert RULE.due(large, MANY + MANY // 20, busy, busy)
    assert RULE.due(large, MANY - 1, busy, busy)  # one was withdrawn
    assert RULE.due(large, MANY + 1, busy, busy - QUIET_SECONDS)
    assert RULE.due(large, MANY + 1, 999.0 + LONGEST_SECONDS, 999.0 + LONGEST_SECONDS)
    assert RULE.due(large, MANY + 1, 998.0, 998.0)  # the clock was set back


def test_ten_million_devices_are_told_of_a_few_hundred_versions() -> None:
    shown = Shown(0, 0.0)
    versions = 0
    devices = 0
    for tick in range(43_200):  # every two seconds of a day
        devices = 10_000_000 * (tick + 1) // 43_200
        now = 2.0 * tick
        if RULE.due(shown, devices, now, now):
            shown = Shown(devices, now)
            versions += 1
    assert versions < 330


def test_seconds_are_a_pause_and_nothing_else() -> None:
    rule = Emission.parse("seconds:60")
    assert not rule.due(Shown(3, 0.0), 300, 59.0, 59.0)
    assert rule.due(Shown(MANY, 0.0), MANY + 1, 60.0, 60.0)


def grown(path: Path) -> Aggregator:
    """A federation that is not small any more, and whose devices have a version."""
    made = started(path, TASK, debounce=0.0)
    deliver(made, TASK, range(SMALL_DEVICES), 1.0)
    assert subspace_of(made.estimate(2.0)).devices == SMALL_DEVICES
    return made


def test_the_last_version_has_everybody_when_nothing_more_comes_in(tmp_path: Path) -> None:
    made = grown(tmp_path / "s.db")
    for extra in range(3):
        deliver(made, TASK, range(SMALL_DEVICES + extra, SMALL_DEVICES + extra + 1), 3.0)
        assert made.estimate(3.0 + extra) == []
    last = subspace_of(made.estimate(5.0 + QUIET_SECONDS))
    assert (last.version, last.devices) == (2, SMALL_DEVICES + 3)
    assert made.estimate(100.0) == []


def test_another_worker_goes_by_what_was_published(tmp_path: Path) -> None:
    first = grown(tmp_path / "s.db")
    second = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(first, TASK, range(SMALL_DEVICES, SMALL_DEVICES + 5), 3.0)
    assert second.estimate(3.0) == first.estimate(3.0) == []
    deliver(first, TASK, range(SMALL_DEVICES + 5, SMALL_DEVICES + 10), 4.0)
    assert subspace_of(second.estimate(4.0)).version == 2
