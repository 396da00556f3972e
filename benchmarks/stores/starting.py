"""A worker that starts: `python -m benchmarks.stores.starting ADDRESS`, in seconds and memory."""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import closing

from aggregator.core import Aggregator
from aggregator.store.opening import open_store
from benchmarks.intake import low_dimensional


def main(address: str) -> None:
    """From opening the store to the end of the first turn."""
    task = low_dimensional()
    start = time.monotonic()
    with closing(open_store(address)) as store:
        made = Aggregator(store, [task])
        made.start(0.0)
        made.tick(1.0)
        made.receipts()
    seconds = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "peak": peak}))


if __name__ == "__main__":
    main(sys.argv[1])
