"""What a sealed report costs the device that makes it, against one that is not sealed.

Each is made by a process of its own that imports what a device needs, learns a report's records and
makes the report: its largest resident set, its processor time until the report is there, and that
of one more report (`benchmarks._making`). Both kinds take turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tomli_w

from fsir.task.task import Task

ROUNDS = 7


def compared(tasks: dict[str, Task], rounds: int = ROUNDS) -> dict[str, float]:
    """Sealed over plain, from the least of several rounds: what else the machine does only adds."""
    runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in tasks}
    with tempfile.TemporaryDirectory() as folder:
        files = {kind: Path(folder) / f"{kind}.toml" for kind in tasks}
        for kind, path in files.items():
            path.write_text(tomli_w.dumps(tasks[kind].table()), "utf-8")
            _made(path, folder)  # compiles
        for _ in range(rounds):
            for kind, path in files.items():
                runs[kind].append(_made(path, folder))
    return _figures({kind: _least(found) for kind, found in runs.items()})


def _made(path: Path, folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks._making", str(path)]
    environment = os.environ | {"PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return dict(json.loads(done.stdout))


def _least(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: min(run[name] for run in runs) for name in runs[0]}


def _figures(found: dict[str, dict[str, float]]) -> dict[str, float]:
    sealed, plain = found["sealed"], found["plain"]
    return {
        "device: resident memory, sealed / plain": sealed["memory"] / plain["memory"],
        "device: resident memory, sealed (MB)": sealed["memory"] / 1024,
        "device: processor time to the first report, sealed / plain": sealed["all"] / plain["all"],
        "device: importing cryptography (ms)": 1e3 * (sealed["first"] - sealed["report"]),
        "device: one more report, sealed (ms)": 1e3 * sealed["report"],
        "device: one more report, plain (ms)": 1e3 * plain["report"],
        "device: bytes, sealed / plain": sealed["bytes"] / plain["bytes"],
    }
