"""Ten million devices in 24 hours, a tenth of them within ten minutes, on paper.

Not a load test: what an ask and a report cost a worker is measured here, in memory and on one
store; what a broker, a handshake and a connection cost was measured once (docs/scale.md) and is
written down below. The day is played minute by minute. The figures are what one cell has to carry.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.core import Aggregator
from aggregator.results.emission import Emission, Shown
from aggregator.store.sqlite import SqliteStore
from benchmarks.intake import low_dimensional, reports
from fsir.arrays import Matrix
from fsir.task.task import Task
from fsir.wire.messages import Ask, encode, topic

DEVICES = 10_000_000
CELLS = 8
MINUTES = 24 * 60
CROWD_SHARE = 0.1  # of all devices, who come ...
CROWD_MINUTES = 10  # ... within so many minutes
CROWD_BEGINS = 12 * 60
MEASURED = 4000  # devices
AT_ONCE = 1000
LISTEN_SECONDS = 30.0  # a device that leaves is connected for about so long
FIRST_PAUSE_MINUTES = 10  # of a device that leaves, give or take a half; the next is twice as long


@dataclass(frozen=True)
class Costs:
    """Seconds of one core, and bytes; of mosquitto 2.0 and TLS 1.3 on a shared core of a server."""

    broker_message: float = 26e-6  # in and out
    fan_out: float = 12e-6  # a subspace to one device
    handshake: float = 2e-3
    connection_bytes: float = 25.5e3
    row_bytes: float = 406.0


COSTS = Costs()
VERSIONS = "versions of the subspace in the day"
BARS = {VERSIONS: "<= 330"}


def arrivals() -> Matrix:
    """Devices that come in each minute: evenly, and a crowd at noon."""
    even = np.full(MINUTES, (1.0 - CROWD_SHARE) * DEVICES / MINUTES)
    crowd = slice(CROWD_BEGINS, CROWD_BEGINS + CROWD_MINUTES)
    even[crowd] += CROWD_SHARE * DEVICES / CROWD_MINUTES
    return even


def connections(came: Matrix) -> Matrix:
    """Connections that are made in each minute: who came leaves, and returns after jittered pauses.

    Jitter adds up: the k-th return is spread over as long as the last pause.
    """
    made = came.copy()
    pause = FIRST_PAUSE_MINUTES
    before = came
    while pause < MINUTES:
        spread = np.ones(pause) / pause
        later = np.convolve(before, spread)[:MINUTES]
        before = np.concatenate((np.zeros(pause // 2), later))[:MINUTES]
        made += before
        pause *= 2
    return made


def versions(came: Matrix) -> int:
    """How many versions of the subspace the day has, looked at every two seconds."""
    rule = Emission()
    shown = Shown(0, 0.0)
    count = 0
    total = np.cumsum(np.repeat(came / 30.0, 30))
    for tick, devices in enumerate(total.astype(int).tolist()):
        if rule.due(shown, devices, 2.0 * tick, 2.0 * tick):
            shown = Shown(devices, 2.0 * tick)
            count += 1
    return count


def seconds_each(task: Task) -> tuple[float, float]:
    """CPU seconds of a worker for one ask, and for one report with its receipt."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "s.db")
        aggregator = Aggregator(store, [task])
        aggregator.start(0.0)
        sent = reports(task, MEASURED, seed=1)
        asks = [_ask(task, place.rpartition("/")[2]) for place, _ in sent]
        found = (_seconds(aggregator, asks), _seconds(aggregator, sent))
        store.close()
    return found


def _ask(task: Task, device: str) -> tuple[str, bytes]:
    ask = Ask(task.digest, device, device.encode().zfill(16))
    return topic(task.name, "ask", device), encode(ask)


def _seconds(aggregator: Aggregator, messages: list[tuple[str, bytes]]) -> float:
    begun = time.process_time()
    for start in range(0, len(messages), AT_ONCE):
        for place, raw in messages[start : start + AT_ONCE]:
            aggregator.take(place, raw)
        aggregator.commit(1.0)
    return (time.process_time() - begun) / len(messages)


def run() -> dict[str, float]:
    """The day, for one of the cells."""
    ask_seconds, report_seconds = seconds_each(low_dimensional())
    came = arrivals()
    made = connections(came) / 60.0 / CELLS  # a second, in a cell
    sent = came / 60.0 / CELLS
    worker = made * ask_seconds + sent * report_seconds
    # An ask and a report, each with its answer; task and subspace for who comes.
    talking = 2.0 * (made + sent) * COSTS.broker_message + 2.0 * made * COSTS.fan_out
    broker = talking + made * COSTS.handshake
    away = made.max() * LISTEN_SECONDS
    emitted = versions(came)
    every = MINUTES * 30  # a version every two seconds
    core_days = DEVICES / CELLS * COSTS.fan_out / 86400.0
    return {
        "worker, microseconds for an ask": 1e6 * ask_seconds,
        "worker, microseconds for a report": 1e6 * report_seconds,
        "reports a second at the peak, in a cell": float(sent.max()),
        "connections made a second at the peak, in a cell": float(made.max()),
        "worker, cores at the peak, in a cell": float(worker.max()),
        "broker, cores at the peak, in a cell": float(broker.max()),
        "open connections at the peak if devices leave, in a cell": float(away),
        "GB for them": away * COSTS.connection_bytes / 1e9,
        "GB in a cell if all devices stay": DEVICES / CELLS * COSTS.connection_bytes / 1e9,
        "GB in the store": DEVICES * COSTS.row_bytes / 1e9,
        VERSIONS: float(emitted),
        "broker, mean cores for versions if all stay, in a cell": emitted * core_days,
        "the same with a version every two seconds": every * core_days,
    }
