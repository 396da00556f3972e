"""Three cells against one, all on this machine: does a federation grow by adding cells?

A cell is a mosquitto and a `fsir-aggregator serve`; all share a PostgreSQL that commits durably.
Workers are connected and stopped, the brokers get the reports of all devices, then the workers go
on at the same moment. Measured is the time until the last report is counted: whoever publishes has
no part in it.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import tomli_w

from benchmarks.intake import _fill, low_dimensional, reports
from sim_devices.network.broker import LocalBroker
from tests.postgres import Cluster

REPORTS = 24_000
ROUNDS = 3
MANY = 3
_PATIENCE_SECONDS = 120.0
RATIO = "reports per second, 3 cells / 1"
BARS = {RATIO: ">= 1.2"}
_COUNTED = "SELECT coalesce(sum(devices), 0)::int FROM part"


def _until(cluster: Cluster, query: str, address: str, wanted: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while cluster.run(query, address) != [(wanted,)]:
        assert time.monotonic() < deadline, f"{query} is not {wanted}"
        time.sleep(0.02)


def _serve(folder: Path, url: str, address: str, number: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "aggregator", "serve", "--task", str(folder / "task.toml")]
    command += ["--broker", url, "--store", address, "--worker", f"cell-{number}"]
    log = folder / f"{number}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while "connected with MQTT" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return process


def measure(cluster: Cluster, cells: int, count: int = REPORTS) -> float:
    """Reports per second of so many cells together."""
    task = low_dimensional()
    address = cluster.fresh()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "task.toml").write_text(tomli_w.dumps(task.table()))
        brokers = [stack.enter_context(LocalBroker()) for _ in range(cells)]
        urls = [broker.start("mosquitto") for broker in brokers]
        workers = [_serve(folder, url, address, k) for k, url in enumerate(urls)]
        for worker in workers:
            stack.callback(worker.wait)
            stack.callback(worker.kill)
            os.kill(worker.pid, signal.SIGSTOP)
        every = reports(task, count, seed=1)
        for k, url in enumerate(urls):
            _fill(url, every[k::cells])
        begun = time.monotonic()
        for worker in workers:
            os.kill(worker.pid, signal.SIGCONT)
        _until(cluster, _COUNTED, address, count)
        return count / (time.monotonic() - begun)


def run(count: int = REPORTS, rounds: int = ROUNDS) -> dict[str, float]:
    """The ratio, of several rounds the median; and both rates of this machine."""
    cluster = Cluster("").create().start()
    try:
        pairs = [(measure(cluster, MANY, count), measure(cluster, 1, count)) for _ in range(rounds)]
    finally:
        cluster.remove()
    return {
        RATIO: statistics.median(many / one for many, one in pairs),
        "reports per second, 1 cell": statistics.median(one for _, one in pairs),
        "reports per second, 3 cells": statistics.median(many for many, _ in pairs),
    }
