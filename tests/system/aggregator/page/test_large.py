"""The page of a federation of fifty thousand devices."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aggregator.core import Aggregator
from aggregator.store.rows import ReportRow, TotalsRow
from aggregator.store.sqlite import SqliteStore
from tests.aggregator.federations import report
from tests.system.aggregator.page.served import agree, assert_clean, figures, served, watched_task

pytestmark = [pytest.mark.broker, pytest.mark.long]
DEVICES = 50_000
TASK = watched_task()


def fill(path: Path) -> None:
    """As many on the roster as have reported, and as many again that have not."""
    store = SqliteStore(path)
    aggregator = Aggregator(store, [TASK])
    aggregator.start(0.0)
    federation = aggregator.federations[TASK.name]
    raw = report(TASK, "pi", 1)
    names = [f"pi-{k:06d}" for k in range(2 * DEVICES)]
    rows = (
        ReportRow(device=name, stage="final", id=name.encode(), n=100, raw=raw, at=time.time())
        for name in names[:DEVICES]
    )
    values = (DEVICES * federation.values(raw)).astype("<i8").tobytes()
    totals = TotalsRow(devices=DEVICES, records=100 * DEVICES, change=1, values=values)
    with store.transaction():
        store.enrol(TASK.name, names, 0.0)
        store.insert(federation.key, rows)
        store.put_totals(federation.key, "final", totals)
    store.close()


def test_fifty_thousand_devices_are_there_at_once(
    mosquitto_url: str, tmp_path: Path, tab: Any, record_property: Callable[[str, object], None]
) -> None:
    fill(tmp_path / "s.db")
    with served(tmp_path, mosquitto_url, TASK) as made:
        start = time.perf_counter()
        one = tab(made.page)
        one.page.locator("#task0-devices table").wait_for()
        seconds = time.perf_counter() - start
        record_property("seconds until the page of 50,000 devices is there", seconds)
        print(f"{seconds:.2f} s until the page of {DEVICES} devices is there")
        shown = figures(one)
        assert (shown["devices.reported"], shown["devices.silent"]) == (DEVICES, DEVICES)
        one.page.get_by_text("Direction 1").first.wait_for(timeout=60_000)
        assert agree(figures(one), made.status()[0])
        one.page.get_by_role("link", name="names of 50000 silent devices").click()
        one.page.get_by_role("link", name="More names").click()
        one.page.get_by_text("pi-051000").wait_for()
        assert_clean(one, made.page)
