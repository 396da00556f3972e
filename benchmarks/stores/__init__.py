"""PostgreSQL against SQLite: what the hot path of a worker costs, alone and with others.

Workers are processes of their own; each makes its reports first, waits for the others, and then
counts them in batches of 1,000, durably (fsync, synchronous commits). Nothing but the store
differs, and both are measured in the same minute. The start is that of a store with a million
reports.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from aggregator.core import Aggregator
from aggregator.store.opening import open_store
from benchmarks.intake import low_dimensional
from tests.postgres import Cluster

# Of each worker. Who waits for the lock of a file is passed by while the others go on: with ten
# batches each the end of the run would end that wait.
REPORTS = 30_000
ROUNDS = 3
ROWS = 1_000_000
BARS = {
    "processor time of a worker per report, PostgreSQL / SQLite": "<= 1.3",
    "PostgreSQL, reports per second, 4 workers / 1": ">= 0.8",
    "worst batch with 4 workers, PostgreSQL / SQLite": "<= 0.25",
    "seconds to start with 1,000,000 reports": "<= 5",
    "memory after a start, 1,000,000 reports / none": "<= 1.1",
}


def measure(address: str, workers: int, count: int = REPORTS) -> dict[str, float]:
    """Rate of all together, processor time of each per report, and the slowest batch."""
    command = [sys.executable, "-m", "benchmarks.stores.worker", address, str(count)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*command, str(k)], **pipes) for k in range(workers)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    start = time.monotonic()
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [json.loads(process.communicate()[0]) for process in running]
    seconds = time.monotonic() - start
    return {
        "rate": workers * count / seconds,
        "cpu": statistics.mean(one["cpu"] for one in told),
        "worst": max(one["worst"] for one in told),
    }


def start(cluster: Cluster, rows: int) -> dict[str, float]:
    """Seconds from opening a store with so many reports to the first turn, and peak memory."""
    address = cluster.fresh()
    task = low_dimensional()
    with closing(open_store(address)) as store:
        Aggregator(store, [task]).start(0.0)
    cluster.run(
        "INSERT INTO report (task, device, stage, round, id, n, raw, at) SELECT 1,"
        " 'device-' || i, 'final', 1, decode(md5(i::text), 'hex'), 1000,"
        f" decode(repeat(md5(i::text), 14), 'hex'), i FROM generate_series(1, {rows}) i",
        address,
    )
    return _started(address)


def _started(address: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.stores.starting", address]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def run(count: int = REPORTS, rounds: int = ROUNDS) -> dict[str, float]:
    """Ratios of one run; of several rounds the median."""
    cluster = Cluster("").create().start()
    found: dict[str, list[dict[str, float]]] = {}
    try:
        for number in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                for workers in (1, 4):
                    file = f"sqlite:{Path(folder) / f's{workers}-{number}.db'}"
                    for name, address in (("SQLite", file), ("PostgreSQL", cluster.fresh())):
                        one = measure(address, workers, count)
                        found.setdefault(f"{name} {workers}", []).append(one)
        empty, full = (start(cluster, rows) for rows in (0, ROWS))
    finally:
        cluster.remove()

    def ratio(what: str, above: str, below: str) -> float:
        pairs = zip(found[above], found[below], strict=True)
        return statistics.median(a[what] / b[what] for a, b in pairs)

    return {
        "processor time of a worker per report, PostgreSQL / SQLite": ratio(
            "cpu", "PostgreSQL 1", "SQLite 1"
        ),
        "PostgreSQL, reports per second, 4 workers / 1": ratio(
            "rate", "PostgreSQL 4", "PostgreSQL 1"
        ),
        "worst batch with 4 workers, PostgreSQL / SQLite": ratio(
            "worst", "PostgreSQL 4", "SQLite 4"
        ),
        "seconds to start with 1,000,000 reports": full["seconds"],
        "memory after a start, 1,000,000 reports / none": full["peak"] / empty["peak"],
    }
