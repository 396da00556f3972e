"""Make one report, as a device does, and say what it took.

    python -m benchmarks._making TASK.toml

It imports what a device needs and nothing else.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from edge_agent.learning.report import report_bytes
from fsir.contract import load_task
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import first_stage, report_size

_AGAIN = 50  # reports of which the time of one is taken


def main(path: str) -> dict[str, float]:
    """Make a report in this process, and say what it took."""
    task = load_task(path)
    moments = Moments(task, first_stage(task))
    rng = np.random.default_rng(0)
    moments.learn_many(rng.normal(size=(report_size(task), task.p)), rng.normal(size=1000))
    started = time.process_time()
    raw = report_bytes(task, "device", moments, SystemNoise())
    made = time.process_time()
    peak = _peak()
    for _ in range(_AGAIN):
        report_bytes(task, "device", moments, SystemNoise())
    more = (time.process_time() - made) / _AGAIN
    return {
        "memory": peak,
        "all": made,
        "first": made - started,
        "report": more,
        "bytes": len(raw),
    }


def _peak() -> int:
    """The largest resident set of this process so far, in kB."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
