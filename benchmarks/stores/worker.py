"""One worker: `python -m benchmarks.stores.worker ADDRESS COUNT NUMBER`, then a line to start."""

from __future__ import annotations

import gc
import json
import sys
import time
from contextlib import closing

from aggregator.core import Aggregator
from aggregator.store.opening import open_store
from benchmarks.intake import low_dimensional, reports

BATCH = 1000


def main(address: str, count: int, number: int) -> None:
    """Count reports of our own devices; print processor time per report and the slowest batch."""
    task = low_dimensional()
    # Names of the same length: the bytes around them stay as they are.
    mine = f"work{number:02d}-"
    messages = [
        (topic.replace("device-", mine), raw.replace(b"device-", mine.encode()))
        for topic, raw in reports(task, count, number)
    ]
    with closing(open_store(address)) as store:
        store.join(f"worker-{number}")
        made = Aggregator(store, [task])
        made.start(0.0)
        gc.freeze()  # as `serve` does before its first batch
        print("ready", flush=True)
        sys.stdin.readline()
        took = []
        before = time.process_time()
        for start in range(0, count, BATCH):
            for topic, raw in messages[start : start + BATCH]:
                made.take(topic, raw)
            at = time.monotonic()
            made.commit(1.0)
            took.append(time.monotonic() - at)
        cpu = time.process_time() - before
        assert made.verdicts[task.name, "counted"] == count, made.verdicts
    print(json.dumps({"cpu": cpu / count, "worst": max(took)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
