"""What it takes to trim 1,000 wide reports: each value is compared with those of all others.

p = 561 with three classes, 159,327 numbers a report, gathered from the stored bytes in pieces of
bounded memory; beside it reading every report once. An estimate does this in a thread of its own.

    python -m benchmarks trimmed
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from aggregator.core import Aggregator
from aggregator.results.gathering import gather
from aggregator.store.sqlite import SqliteStore
from benchmarks._subscribers import peak_mb
from benchmarks.intake import reports, screening_sums
from fsir.privacy.plan import FINAL
from fsir.task.task import TRIMMED

DEVICES = 1_000
AT_ONCE = 50
BARS: dict[str, str] = {}


def run(devices: int = DEVICES) -> dict[str, float]:
    """Seconds of processor time for trimmed sums, and what they take in memory."""
    task = replace(screening_sums(), screening=None, aggregation=TRIMMED)
    with tempfile.TemporaryDirectory() as folder:
        aggregator = Aggregator(SqliteStore(Path(folder) / "trimmed.db"), [task])
        aggregator.start(0.0)
        for seed in range(0, devices, AT_ONCE):
            for about, raw in reports(task, AT_ONCE, seed=seed, first=seed):
                aggregator.take(about, raw)
            aggregator.commit(float(seed))
        (federation,) = aggregator.federations.values()
        start = time.process_time()
        size = sum(len(row.raw or b"") for row in aggregator.store.reports(1, FINAL))
        read = time.process_time() - start
        Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
        before = peak_mb()
        start = time.process_time()
        totals = gather(aggregator.store, federation)
        seconds = time.process_time() - start
    assert totals.devices == devices
    return {
        "seconds for trimmed sums of 1,000 reports, p = 561": seconds,
        "trimmed sums / reading every report once": seconds / read,
        "megabytes of reports": size / 2**20,
        "megabytes that trimming adds to the peak": peak_mb() - before,
    }
