"""An aggregator that somebody watches: `serve` as a process, and what its page says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tomli_w

from fsir.task.task import Task
from sim_devices.network.probe import free_port
from tests.aggregator.federations import make_task
from tests.system.aggregator.daemons import ROOT, listens, wait_for

FEATURES = tuple(f"acc-{axis}-{kind}" for axis in "xyz" for kind in ("mean", "sd", "max", "energy"))
CLASSES = ("walking", "sitting", "lying down")


def watched_task(**more: Any) -> Task:
    """A task that a person could tell something about."""
    sections = {"features": {"names": list(FEATURES)}, "response": {"classes": list(CLASSES)}}
    return make_task(len(FEATURES), records=100, name="activity", **(sections | more))


class Served:
    """A running aggregator: where its page is, and what `status --json` says."""

    def __init__(
        self, folder: Path, url: str, *tasks: Task, more: tuple[str, ...] = (), port: int = 0
    ) -> None:
        self.store = f"sqlite:{folder / 's.db'}"
        self.port = port or free_port()
        self.page = f"http://127.0.0.1:{self.port}/"
        self._command = [sys.executable, "-m", "aggregator", "serve", "--broker", url]
        for k, task in enumerate(tasks):
            file = folder / f"{k}.toml"
            file.write_text(tomli_w.dumps(task.table()))
            self._command += ["--task", str(file)]
        self._command += ["--store", self.store, "--http", f"127.0.0.1:{self.port}", *more]
        self._command += ["--debounce", "0.1", "--log-level", "error"]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, cwd=ROOT)
        wait_for(lambda: listens(self.port), "the page")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            assert self._process.wait(60) == 0
            self._process = None

    def status(self) -> list[dict[str, Any]]:
        """What the command says."""
        command = [sys.executable, "-m", "aggregator", "status", "--store", self.store, "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        return list(json.loads(done.stdout)["tasks"])


@contextmanager
def served(folder: Path, url: str, *tasks: Task, **options: Any) -> Iterator[Served]:
    """For the length of a `with` block."""
    made = Served(folder, url, *tasks, **options)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def figures(one: Any, place: str = "task0") -> dict[str, Any]:
    """Every figure that a page shows of a task, by its path in the overview."""
    found = one.page.eval_on_selector_all(
        f"#{place} data[data-of]", "all => all.map(one => [one.dataset.of, one.value])"
    )
    return {path: json.loads(value) for path, value in found}


def looked_up(overview: dict[str, Any], path: str) -> Any:
    """What stands in an overview under a path such as `stages.final.devices`."""
    value: Any = overview
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def agree(shown: dict[str, Any], overview: dict[str, Any]) -> bool:
    """Whether all figures are those of the overview."""
    return all(looked_up(overview, path) == value for path, value in shown.items())


def assert_clean(one: Any, url: str) -> None:
    """No error, and no request to anybody else."""
    assert one.errors == []
    origin = urlsplit(url)[:2]
    assert {urlsplit(asked)[:2] for asked in one.requests} == {origin}
