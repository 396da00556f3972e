"""The aggregator of the benchmark `watched`, in a process of its own:

python -m benchmarks.watched.served CLIENT URL COUNT TASK STORE PAGES

It waits until so many pages are open, then drains its queue.
"""

from __future__ import annotations

import json
import sys
import time

from aggregator.daemon import Daemon
from aggregator.monitoring.http import HttpServer, pages
from aggregator.page.routes import LivePage
from aggregator.store.opening import open_store
from benchmarks._subscribers import TimedAggregator
from fsir.contract import load_task
from fsir.net.broker import Broker

DEBOUNCE_SECONDS = 2.0  # as `serve` has it


def main(client: str, url: str, count: str, task_file: str, store: str, open_pages: str) -> None:
    """Print the port, and at the end the rate."""
    task = load_task(task_file)
    aggregator = TimedAggregator(open_store(f"sqlite:{store}"), [task], debounce=DEBOUNCE_SECONDS)
    ended: list[float] = []

    def reached(point: str) -> None:
        if point == "answered" and aggregator.verdicts[task.name, "counted"] >= int(count):
            ended.append(time.perf_counter())
            daemon.stop()

    daemon = Daemon(aggregator, Broker.parse(url), client_id=client, version="5", reached=reached)
    looks: list[float] = []

    def look() -> dict[str, object]:
        start = time.perf_counter()
        found = daemon.overview()
        looks.append(time.perf_counter() - start)
        return found

    live = LivePage(look, daemon.names)
    shown = live.pages() | pages(daemon.metrics.shown, daemon.health)
    server = HttpServer("127.0.0.1:0", shown, live.streams())
    print(server.port, flush=True)
    while live.watchers < int(open_pages):
        time.sleep(0.01)
    busy = time.process_time()
    daemon.run()
    figures = {
        "rate": int(count) / (ended[0] - aggregator.started),
        "cpu_us": (time.process_time() - busy) / int(count) * 1e6,
        "looks": len(looks),
    }
    print(json.dumps(figures), flush=True)
    live.close()
    server.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
