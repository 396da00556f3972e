"""How long an operator waits for the overview of 50,000 devices, and a scrape of the metrics.

Beside it, in the same run, how long the same store takes to be read once without looking at it,
device, stage and time of every report. A tenth of the devices is missing; there are 10,000 refusals
in quarantine and 20,000 versions in the history.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from aggregator.core import Aggregator
from aggregator.monitoring.metrics import Metrics
from aggregator.overview.overview import overview
from aggregator.store.rows import RefusedRow, ReportRow, TotalsRow, VersionRow
from aggregator.store.sqlite import SqliteStore
from benchmarks.intake import low_dimensional, reports

DEVICES = 50_000
EXPECTED = 55_000
ASKED = 52_000
REFUSED = 10_000
VERSIONS = 20_000
REPORT_BYTES = 1500  # of each stored report, of which none is opened
ROUNDS = 5
NOW = 1.7e9 + DEVICES
BARS = {"seconds for an overview of 50,000 devices": "<= 0.5"}


def filled(path: Path) -> Aggregator:
    """An aggregator on a store with so many devices; a few of the reports are real."""
    task = low_dimensional()
    store = SqliteStore(path)
    aggregator = Aggregator(store, [task])
    aggregator.start(0.0)
    for about, raw in reports(task, 20, seed=1):
        aggregator.take(about, raw)
    aggregator.commit(1.0)
    aggregator.estimate(2.0)
    names = [f"pi-{i:05d}" for i in range(EXPECTED)]
    with store.transaction():
        store.insert(1, map(_report, names[:DEVICES], range(DEVICES)))
        row = store.totals(1, "final")
        more = TotalsRow(devices=DEVICES, records=row.records, change=row.change, values=row.values)
        store.put_totals(1, "final", more)
        store.enrol(task.name, names, 1.0)
        store.put_instances(1, {name: bytes(16) for name in names[:ASKED]})
        for number in range(2, VERSIONS):
            store.put_version(1, _version(number))
        store.refuse([_refusal("elsewhere") for _ in range(REFUSED)])
        store.refuse([_refusal(task.name) for _ in range(5)])
    return aggregator


def _report(device: str, number: int) -> ReportRow:
    raw = os.urandom(REPORT_BYTES)
    return ReportRow(device=device, stage="final", id=raw[:16], n=1000, raw=raw, at=1.7e9 + number)


def _version(number: int) -> VersionRow:
    return VersionRow(
        version=number, at=1.7e9, devices=number, records=1, dimension=1, expected_error=0.1
    )


def _refusal(task: str) -> RefusedRow:
    return RefusedRow(
        task=task,
        device="pi",
        stage="final",
        id=bytes(16),
        reason="malformed",
        detail="malformed: it is",
        length=4096,
        raw=os.urandom(4096),
        at=1.7e9,
    )


def _seconds(action: Callable[[], object]) -> float:
    """The shortest of a few runs."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def run() -> dict[str, float]:
    """The overview, the scrape, and reading every report once."""
    with tempfile.TemporaryDirectory() as folder:
        aggregator = filled(Path(folder) / "store.db")
        store = aggregator.store
        (federation,) = aggregator.federations.values()
        shown = _seconds(lambda: overview(store, federation, NOW))
        scraped = _seconds(Metrics(aggregator).shown)
        read = _seconds(lambda: sum(row.at for row in store.reports(1)))
        store.close()
    return {
        "seconds for an overview of 50,000 devices": shown,
        "seconds for a scrape": scraped,
        "overview / reading every report once": shown / read,
    }
