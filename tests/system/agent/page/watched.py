"""A device that somebody watches: an agent that learns and serves, and the page beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fsir.contract import task_from_table
from fsir.task.task import Task
from fsir.wire.messages import Classifier, Subspace, encode, topic
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, end

CLASSES = ("walking", "sitting", "lying down")
FEATURES = ("acc", "gyro", "tilt")


def watched_task(classes: tuple[str, ...] = CLASSES, name: str = "activity", **more: Any) -> Task:
    """A task about classes that lie apart on two of three features."""
    table = {
        "name": name,
        "features": {"names": list(FEATURES)},
        "response": {"classes": list(classes)},
        "clip": {"truncate": 3.0, "norm": 3.0},
        "privacy": {"epsilon": 0.8},
        "report": {"records": 100},
    }
    return task_from_table(table | more)


def centres(of: Task) -> np.ndarray:
    """Where the classes of a task lie."""
    angles = np.arange(len(of.response.classes)) * 2.1
    return 2.0 * np.column_stack([np.cos(angles), np.sin(angles)])


class KnowingAggregator(TinyAggregator):
    """One that publishes two directions and a classifier."""

    def emit(self) -> None:
        places = centres(self.task)
        subspace = Subspace(
            task=self.task.digest,
            version=1,
            features=self.task.features.names,
            basis=np.eye(3)[:, :2],
            singular_values=np.ones(2),
            noise_level=0.1,
            expected_error=0.1,
            devices=12,
            records=1200,
            classifier=Classifier(
                classes=self.task.response.classes,
                weights=places,
                bias=-0.5 * (places**2).sum(axis=1),
                centroids=places,
            ),
        )
        # Not `publish`, which waits: this is called by the thread that would confirm it.
        about = topic(self.task.name, "subspace")
        self._client.publish(about, encode(subspace), 1, retain=True)


def records(of: Task, n: int, seed: int = 0, labelled: bool = True) -> list[str]:
    """Lines of a source: somebody who does one thing for a while, and then another."""
    rng = np.random.default_rng(seed)
    places = centres(of)
    lines = []
    for k in range(n):
        h = k // 20 % len(places)
        values = np.append(places[h] + rng.normal(0, 0.6, 2), rng.normal())
        row = dict(zip(FEATURES, values.round(4).tolist(), strict=True))
        lines.append(json.dumps(row | ({"y": of.response.classes[h]} if labelled else {})) + "\n")
    return lines


@contextmanager
def page(state: Path, *more: str) -> Iterator[str]:
    """`fsir-agent page` as a process; its address."""
    words = ["page", "--state", str(state), "--listen", "127.0.0.1:0", *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "edge_agent", *words], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith(f"the page of device {DEVICE}: http://"), said
        yield said.split()[5]
    finally:
        end(process)
