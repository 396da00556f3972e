"""What open pages cost: intake with ten of them against none, and how fast a page opens.

mosquitto holds a full queue for each of two aggregators; each in turn drains it in a process of its
own, one of them with ten open pages that take every change. Who comes first alternates from round
to round, and the ratio is that of the medians. The page of a large federation is opened once,
without its first look being ready, and its bytes are read to the end.
"""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import tomli_w

from aggregator.core import Aggregator
from aggregator.daemon import Daemon
from aggregator.monitoring.http import HttpServer
from aggregator.page.routes import LivePage
from aggregator.store.rows import ReportRow, TotalsRow
from aggregator.store.sqlite import SqliteStore
from benchmarks._subscribers import connect
from benchmarks.intake import _fill, low_dimensional, reports
from fsir.net.broker import Broker
from fsir.wire import messages
from sim_devices.network.broker import LocalBroker

REPORTS = 100_000  # several seconds, in which the page is brought up to date several times
AT_ONCE = 50_000  # a client of paho can have so many on their way
ROUNDS = 5
PAGES = 10
DEVICES = 50_000
BARS = {
    "intake with 10 open pages / with none": ">= 0.95",
    "seconds until the page of 50,000 devices is there": "<= 2",
}


def _watch(port: int) -> None:
    """One open page, until the server ends."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as page:
        page.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        while page.recv(1 << 16):
            pass


def _drain(client: str, url: str, count: int, folder: Path, pages: int) -> dict[str, float]:
    more = [str(folder / "task.toml"), str(folder / f"{client}.db"), str(pages)]
    command = [sys.executable, "-m", "benchmarks.watched.served", client, url, str(count), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        watching = [threading.Thread(target=_watch, args=(port,)) for _ in range(pages)]
        for thread in watching:
            thread.start()
        figures: dict[str, float] = json.loads(process.stdout.readline())
        for thread in watching:
            thread.join()
    return figures


def _round(count: int, order: tuple[str, str]) -> dict[str, dict[str, float]]:
    """Both drain the same reports, one after the other."""
    task = low_dimensional()
    with LocalBroker() as broker, tempfile.TemporaryDirectory() as name:
        url = broker.start("mosquitto")
        folder = Path(name)
        (folder / "task.toml").write_text(tomli_w.dumps(task.table()))
        for client in order:
            session = connect(url, client, "5")
            session.loop_start()
            session.subscribe(messages.topic(task.name, "report", "+"), 1)
            time.sleep(0.5)
            session.disconnect()
            session.loop_stop()
        sent = reports(task, count, seed=1)
        for first in range(0, count, AT_ONCE):
            _fill(url, sent[first : first + AT_ONCE])
        return {
            client: _drain(client, url, count, folder, PAGES if client == "watched" else 0)
            for client in order
        }


def opening_seconds(devices: int) -> dict[str, float]:
    """How long the page of a large federation takes, at first and while others watch."""
    task = low_dimensional()
    ((_, raw),) = reports(task, 1, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "store.db")
        aggregator = Aggregator(store, [task])
        aggregator.start(0.0)
        key = aggregator.federations[task.name].key
        names = [f"device-{k:06d}" for k in range(2 * devices)]
        now = time.time()
        with store.transaction():
            store.enrol(task.name, names, now)
            store.insert(
                key,
                (
                    ReportRow(device=d, stage="final", id=d.encode(), n=1000, raw=raw, at=now)
                    for d in names[:devices]
                ),
            )
            store.put_totals(key, "final", TotalsRow(devices=devices, records=1000 * devices))
        daemon = Daemon(aggregator, Broker.parse("mqtt://127.0.0.1:1"))
        live = LivePage(daemon.overview, daemon.names)
        server = HttpServer("127.0.0.1:0", live.pages(), live.streams())
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=60) as page:
                text = page.read()
            seconds.append(time.perf_counter() - start)
        live.close()
        server.close()
        store.close()
    assert f'value="{devices}"'.encode() in text
    return {"first": seconds[0], "next": seconds[1], "kilobytes": len(text) / 1000}


def run(count: int = REPORTS, rounds: int = ROUNDS) -> dict[str, float]:
    """The ratio, both rates, and how long a page takes."""
    orders = [("plain", "watched") if k % 2 else ("watched", "plain") for k in range(rounds)]
    measured = [_round(count, order) for order in orders]
    ratios = [one["watched"]["rate"] / one["plain"]["rate"] for one in measured]
    rates = {
        client: statistics.median(one[client]["rate"] for one in measured)
        for client in ("plain", "watched")
    }
    opened = opening_seconds(DEVICES)
    return {
        "intake with 10 open pages / with none": rates["watched"] / rates["plain"],
        "the same ratio, least of all rounds": min(ratios),
        "the same ratio, most of all rounds": max(ratios),
        "reports per second, no page": rates["plain"],
        "reports per second, 10 pages": rates["watched"],
        "processor time per report, 10 pages / none": statistics.median(
            one["watched"]["cpu_us"] / one["plain"]["cpu_us"] for one in measured
        ),
        "looks at the store in a round": statistics.median(
            one["watched"]["looks"] for one in measured
        ),
        "seconds until the page of 50,000 devices is there": opened["first"],
        "seconds until it is there for the next one": opened["next"],
        "its size (kB)": opened["kilobytes"],
    }
