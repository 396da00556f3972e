"""Each part of two cells fails while devices come: all are counted once, and nobody waits forever.

The table of docs/scale.md names these tests. Those of a few seconds are part of `make test`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.system.aggregator.daemons import wait_for
from tests.system.cells.cells import Cells
from tests.system.harness.forkserver import ForkServer
from tests.system.harness.proxy import Weather

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(600)]
DEVICES = 200
SPREAD_SECONDS = 4.0
HALF = SPREAD_SECONDS / 2
slow = pytest.mark.slow
Say = Callable[[float], None]


@pytest.fixture
def cells(tmp_path: Path, forkserver: ForkServer) -> Iterator[Cells]:
    made = Cells(tmp_path, forkserver)
    yield made
    made.close()


@pytest.fixture
def said(record_property: Callable[[str, object], None]) -> Say:
    """Keep the slowest receipt for whoever asks (`--junitxml`)."""
    return lambda slowest: record_property("slowest receipt", round(slowest, 1))


def test_a_worker_that_is_killed_for_good(cells: Cells, said: Say) -> None:
    """HAProxy asks its /healthz in vain, and leads its devices to the other cell."""
    cells.start()
    said(cells.survive([(HALF, cells.workers[0].kill)], DEVICES, SPREAD_SECONDS))


def test_a_standby_that_is_promoted_in_mid_batch(cells: Cells, said: Say) -> None:
    """One worker ends with its part written and not committed; then the primary is gone."""
    cells.start(("part written, not committed", 8))
    standby = cells.standby
    assert standby is not None
    slowest = cells.survive(
        [(HALF, cells.primary.kill), (HALF + 1.0, standby.promote)], DEVICES, SPREAD_SECONDS
    )
    said(slowest)


@pytest.mark.parametrize(
    "point",
    [
        "estimate made",
        pytest.param("estimate begun", marks=slow),
        pytest.param("estimate written, not committed", marks=slow),
    ],
)
def test_a_leader_that_is_killed_in_mid_estimate(point: str, cells: Cells, said: Say) -> None:
    cells.start((point, 3))
    said(cells.survive([], DEVICES, SPREAD_SECONDS))
    assert cells.workers[0].poll() is not None  # the first to come leads


@pytest.mark.parametrize("seconds", [4.0, pytest.param(30.0, marks=slow)])
def test_a_network_that_swallows_what_workers_and_store_say(
    seconds: float, cells: Cells, said: Say
) -> None:
    """It does not hang up either. The standby is not promoted: nobody else may write."""
    cells.start()

    def swallow() -> None:
        cells.line.weather = Weather(silent=True)

    def pass_on() -> None:
        cells.line.weather = Weather()

    events = [(HALF, swallow), (HALF + seconds, pass_on)]
    said(cells.survive(events, DEVICES, SPREAD_SECONDS))


@slow
def test_a_postmaster_that_is_killed_with_9_and_comes_back(cells: Cells, said: Say) -> None:
    """Meanwhile both workers say that they are not well, and why; then they are again."""
    cells.start()

    def noticed() -> bool:
        seen = [cells.health(number) for number in (0, 1)]
        return all(each.get("ok") is False and each["store"] != "ok" for each in seen)

    events = [
        (HALF, cells.primary.kill_postmaster),
        (HALF + 1.0, lambda: wait_for(noticed, "workers to notice")),
        (HALF + 10.0, cells.primary.start),
    ]
    said(cells.survive(events, DEVICES, SPREAD_SECONDS))
    wait_for(lambda: cells.well(0) and cells.well(1), "workers to be well again")


@slow
def test_a_standby_that_is_promoted_after_ten_seconds(cells: Cells, said: Say) -> None:
    cells.start()
    standby = cells.standby
    assert standby is not None
    events = [(HALF, cells.primary.kill_postmaster), (HALF + 10.0, standby.promote)]
    said(cells.survive(events, DEVICES, SPREAD_SECONDS))


def test_a_standby_that_is_killed_and_comes_back(cells: Cells, said: Say) -> None:
    """Commits wait for it, and nothing is acknowledged that is not on both."""
    cells.start()
    standby = cells.standby
    assert standby is not None
    events = [(HALF, standby.kill), (HALF + 3.0, standby.start)]
    said(cells.survive(events, DEVICES, SPREAD_SECONDS))


@slow
def test_a_broker_that_is_killed_and_comes_back(cells: Cells, said: Say) -> None:
    cells.start()
    broker = cells.brokers[0]
    events = [(HALF, broker.kill), (HALF + 3.0, broker.restart)]
    said(cells.survive(events, DEVICES, SPREAD_SECONDS))


@slow
def test_a_broker_that_is_killed_for_good(cells: Cells, said: Say) -> None:
    cells.start()
    said(cells.survive([(HALF, cells.brokers[1].kill)], DEVICES, SPREAD_SECONDS))


@slow
def test_an_haproxy_that_is_restarted(cells: Cells, said: Say) -> None:
    cells.start()
    said(cells.survive([(HALF, cells.proxy.restart)], DEVICES, SPREAD_SECONDS))


@slow
def test_a_worker_that_is_killed_and_comes_back(cells: Cells, said: Say) -> None:
    """Under its old name, as soon as the server has let that go."""
    cells.start()
    events = [(HALF, cells.workers[0].kill), (HALF + 1.0, lambda: cells.work(0))]
    said(cells.survive(events, DEVICES, SPREAD_SECONDS))
