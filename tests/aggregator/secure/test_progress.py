"""How many sealed reports wait, and how many a sum still needs: on both, wherever one looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.daemon import Daemon
from aggregator.monitoring.families import tasks
from aggregator.overview.overview import overview
from aggregator.overview.text import lines
from aggregator.page import document
from fsir.net.broker import Broker
from fsir.privacy.plan import first_stage
from fsir.task.secure import HELPER, LEADER, ROLES
from tests.aggregator.secure.pair import Two, one_hot, sealed, secure_task

TASK = secure_task(8, cohort=5)
STAGE = first_stage(TASK)
BROKER = Broker.parse("mqtt://127.0.0.1:1")


@pytest.fixture
def two(tmp_path: Path) -> Two:
    made = Two(tmp_path, TASK)
    send(made, 0, 3)
    return made


def send(two: Two, first: int, last: int) -> None:
    for i in range(first, last):
        two.send(f"d{i}", sealed(TASK, f"d{i}", one_hot(STAGE, i)))


def told(two: Two, role: str) -> str:
    core = two.cores[role]
    entry = overview(core.store, core.federations[TASK.name], two.now)
    return "\n".join(lines(entry))


def gauges(two: Two, role: str) -> dict[str, float]:
    return {
        sample.name: sample.value for family in tasks(two.cores[role]) for sample in family.samples
    }


@pytest.mark.parametrize("role", ROLES)
def test_status_and_metrics_say_how_many_wait_and_how_many_are_needed(two: Two, role: str) -> None:
    assert "0 opened in 0 sum(s), 3 wait, 2 more for a sum" in told(two, role)
    found = gauges(two, role)
    assert (found["fsir_unopened_reports"], found["fsir_lacking_reports"]) == (3, 2)


@pytest.mark.parametrize("role", ROLES)
def test_what_was_opened_waits_no_more(two: Two, role: str) -> None:
    send(two, 3, 6)
    assert gauges(two, role)["fsir_lacking_reports"] == 0
    two.tick()
    two.talk()
    assert "6 opened in 1 sum(s), 0 wait, 5 more for a sum" in told(two, role)
    found = gauges(two, role)
    assert (found["fsir_unopened_reports"], found["fsir_lacking_reports"]) == (0, 5)


def test_a_sum_that_is_open_at_the_helper_alone_is_lost_and_the_next_one_is_not(two: Two) -> None:
    """As if the store of the leader were an older copy: a report that the helper has opened is not
    there."""
    send(two, 3, 5)
    two.tick()
    two.store(LEADER).delete_shares(1, "d2")
    two.talk()
    assert two.opened() == {}
    assert "0 opened in 0 sum(s), 1 sum(s) lost, 0 wait" in told(two, LEADER)
    core = two.cores[LEADER]
    entry = overview(core.store, core.federations[TASK.name], two.now)
    assert not entry["cohorts"]["pools"][0]["pending"]
    send(two, 5, 10)
    two.tick()
    two.talk()
    assert "5 opened in 1 sum(s), 1 sum(s) lost" in told(two, LEADER)


def test_a_helper_says_that_the_leader_makes_the_estimate(two: Two) -> None:
    send(two, 3, 6)
    two.tick()
    two.talk()
    assert "the leader makes the estimate" in told(two, HELPER)
    assert "an estimate from what has come" in told(two, LEADER)


@pytest.mark.parametrize("role", ROLES)
def test_the_page_says_so(two: Two, role: str) -> None:
    daemon = Daemon(two.cores[role], BROKER)
    shown = "".join(map(str, document.parts(daemon.overview()).values()))
    assert "2 more report(s) before a sum may be opened (3 of 5 wait)" in shown
