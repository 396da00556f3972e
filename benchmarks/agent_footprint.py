"""What an agent costs its device: time until the first record is learned, resident memory,
and whether it grows.

    python -m benchmarks.agent_footprint

Both bars are ratios to a bare `import numpy, paho.mqtt.client, msgpack` in the same environment,
measured in turn with `fsir-agent run` on a real mosquitto: 561 features with screening, both
reports, and serving afterwards. The ratio of times is the median over several rounds of one after
the other. The memory of a device under a public map of 561 features to 150 numbers, in one report,
is measured in the same way. Growth is that of the resident set between the first hundred thousand
and the last of a million records from a pipe. Everything is compiled beforehand, as an installation
does it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.learning import COORDINATES, task_of
from fsir.contract import task_from_table
from fsir.task.task import Task
from fsir.wire.messages import topic
from sim_devices.network.broker import LocalBroker
from tests.edge_agent.aggregators import TinyAggregator

BARE = [sys.executable, "-c", "import numpy, paho.mqtt.client, msgpack"]
ROUNDS = 7
RECORDS = 1_000_000
BARS = {
    "time to first record / bare import": "<= 1.15",
    "resident memory / bare import": "<= 1.2",
    "growth over a million records (MB)": "< 1",
}


def run(rounds: int = ROUNDS, records: int = RECORDS) -> dict[str, float]:
    """All figures."""
    with tempfile.TemporaryDirectory() as name, LocalBroker() as broker:
        url = broker.start("mosquitto")
        folder = Path(name)
        figures = _start_and_memory(url, folder, rounds)
        figures |= _mapped_memory(url, folder, figures["bare import (MB)"])
        figures["growth over a million records (MB)"] = _growth(url, folder, records)
    return figures


def _environment(folder: Path) -> dict[str, str]:
    """Compiled code is kept, but not beside the sources."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def _start_and_memory(url: str, folder: Path, rounds: int) -> dict[str, float]:
    task = _task("har", 561, 300, {"final_norm_factor": 0.55, "keep": 3, "limit": 9})
    _write(folder / "har.jsonl", task, 1000)
    bare = []
    first = []
    bare_kb = []
    agent_kb = []
    with TinyAggregator(url, task, active=task.features.names[:9]) as aggregator:
        subprocess.run(BARE, check=True, env=_environment(folder))
        _agent(url, task, f"jsonl:{folder / 'har.jsonl'}", folder, "compiles")
        for k in range(rounds):
            started = time.perf_counter()
            subprocess.run(BARE, check=True, env=_environment(folder))
            bare.append(time.perf_counter() - started)
            bare_kb.append(_bare_peak(folder))
            for kind in ("active", "subspace"):  # of the device before: each makes both reports
                aggregator.publish(topic(task.name, kind), b"", retain=True)
            seconds, peak = _agent(url, task, f"jsonl:{folder / 'har.jsonl'}", folder, f"d{k}")
            first.append(seconds)
            agent_kb.append(peak)
    ratios = [after / alone for alone, after in zip(bare, first, strict=True)]
    return {
        "time to first record / bare import": median(ratios),
        "resident memory / bare import": max(agent_kb) / min(bare_kb),
        "bare import (s)": median(bare),
        "time to first record (s)": median(first),
        "bare import (MB)": min(bare_kb) / 1024,
        "agent with 561 features (MB)": max(agent_kb) / 1024,
    }


def _mapped_memory(url: str, folder: Path, bare: float) -> dict[str, float]:
    task = task_of(561, COORDINATES)
    source = folder / "mapped.jsonl"
    _write(source, task, 1000)
    with TinyAggregator(url, task):
        _, peak = _agent(url, task, f"jsonl:{source}", folder, "mapped")
    return {
        "resident memory / bare import, public map 561 x 150": peak / 1024 / bare,
        "agent with a public map 561 x 150 (MB)": peak / 1024,
    }


def _bare_peak(folder: Path) -> int:
    code = BARE[2] + (
        "; print(next(line for line in open('/proc/self/status') if "
        "line.startswith('VmHWM')).split()[1])"
    )
    done = subprocess.run(
        [*BARE[:2], code], check=True, capture_output=True, text=True, env=_environment(folder)
    )
    return int(done.stdout)


def _agent(url: str, task: Task, source: str, folder: Path, device: str) -> tuple[float, int]:
    """Seconds from the start of `fsir-agent run` to its first record,
    and its largest resident set."""
    started = time.perf_counter()
    seconds = 0.0
    peak = 0
    with _start(url, task, source, folder, device, stdout=subprocess.DEVNULL) as process:
        for line in process.stderr:
            if b"first record learned" in line:
                seconds = time.perf_counter() - started
            peak = max(peak, _status(process.pid, "VmHWM"))
    return seconds, peak


def _growth(url: str, folder: Path, records: int) -> float:
    """Megabytes that the resident set gains over the last nine tenths of a long stream."""
    task = _task("long", 20, records, None)
    line = _lines(task, 1)[0].encode()
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    policy = folder / "policy.toml"
    policy.write_text("hold = false\n")  # the same line a million times is not what a task expects
    more = ("--policy", str(policy))
    with (
        TinyAggregator(url, task),
        _start(url, task, "jsonl:-", folder, "long", *more, **streams) as process,
    ):
        sizes = []
        for _ in range(10):
            # The pipe holds little: when this returns, nearly all is learned.
            process.stdin.write(line * (records // 10))
            process.stdin.flush()
            sizes.append(_status(process.pid, "VmRSS"))
        process.stdin.write(line * 100)
        process.stdin.close()
        said = process.stderr.read()
        assert b"final report counted" in said, said
    return (sizes[-1] - sizes[0]) / 1024


def _start(
    url: str, task: Task, source: str, folder: Path, device: str, *more: str, **streams: Any
) -> subprocess.Popen[bytes]:
    program = str(Path(sys.executable).with_name("fsir-agent"))
    command = [program, "run", "--broker", url, "--task", task.name, "--device", device]
    command += ["--source", source, "--state", str(folder / device), *more]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=_environment(folder), **streams)


def _status(pid: int, field: str) -> int:
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(line.split()[1]) for line in status if line.startswith(field)), 0)
    except FileNotFoundError:
        return 0


def _task(name: str, p: int, records: int, screening: dict[str, Any] | None) -> Task:
    table = {
        "name": name,
        "features": {"names": [f"x{j}" for j in range(p)]},
        "response": {"classes": ["active", "sedentary", "lying"]},
        "clip": {"truncate": 3.0, "norm": p**0.5},
        "privacy": {"epsilon": 1.0},
        "report": {"records": records},
    }
    return task_from_table(table if screening is None else table | {"screening": screening})


def _lines(task: Task, n: int) -> list[str]:
    rows = np.random.default_rng(0).normal(size=(n, task.p)).round(4).tolist()
    classes = task.response.classes
    return [
        json.dumps(dict(zip(task.features.names, row, strict=True)) | {"y": classes[k % 3]}) + "\n"
        for k, row in enumerate(rows)
    ]


def _write(path: Path, task: Task, n: int) -> None:
    path.write_text("".join(_lines(task, n)))


if __name__ == "__main__":
    for name, value in run().items():
        print(f"{name}: {value:.3f} {BARS.get(name, '')}")
