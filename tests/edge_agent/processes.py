"""`fsir-agent run` as a process, for the tests that kill, stop and watch it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.task.task import Task

DEVICE = "dev-1"


def command(url: str, source: str, directory: Path, *more: str, name: str = "test") -> list[str]:
    program = [sys.executable, "-m", "edge_agent", "run"]
    part = ["--broker", url, "--task", name, "--device", DEVICE]
    memory = ["--state", str(directory / "state"), "--save-every", "0.2"]
    return [*program, *part, "--source", source, *memory, *more]


def willing(directory: Path) -> list[str]:
    """The policy of an owner who takes tasks of version 1, too."""
    path = directory / "willing.toml"
    path.write_text("version_1 = true\n")
    return ["--policy", str(path)]


def write_jsonl(path: Path, of: Task, n: int) -> Path:
    rng = np.random.default_rng(0)
    rows = [
        dict(zip(of.features.names, row, strict=True)) | {"y": "abc"[k % 3], "t": k}
        for k, row in enumerate(rng.normal(size=(n, of.p)).round(4).tolist())
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def end(process: subprocess.Popen[Any]) -> None:
    """Whatever happened in the test, nothing of it stays."""
    if process.poll() is None:
        process.kill()
    process.wait(20)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@contextlib.contextmanager
def running(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that can be written to and whose log can be read, until the end of the block."""
    process = subprocess.Popen(
        arguments,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        end(process)


def ledger(directory: Path) -> list[LedgerRow]:
    state = State(directory / "state", None, read_only=True)
    with contextlib.closing(state):
        return state.ledger()


def learned_by_class(directory: Path, of: Task) -> dict[str, int]:
    """Records of a task that the state file has, by class; those of no class left out."""
    with contextlib.closing(State(directory / "state", None, read_only=True)) as state:
        learned = state.progress(of.name).learned
    moments = Moments(of, first_stage(of))
    if learned is not None:
        moments.restore(msgpack.unpackb(learned))
    counts = zip(of.response.classes, moments.counts().tolist(), strict=True)
    return {label: int(count) for label, count in counts if count}


def wait_for_line(process: subprocess.Popen, text: str) -> str:
    seen = ""
    assert process.stderr is not None
    for line in process.stderr:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} never came in:\n{seen}")
