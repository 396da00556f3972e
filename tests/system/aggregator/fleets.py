"""The reports of a fleet, and what the store must hold of them."""

from __future__ import annotations

from pathlib import Path

from aggregator.core import Aggregator
from aggregator.rounds.recount import agrees
from aggregator.store.sqlite import SqliteStore
from fsir.task.task import Task
from tests.aggregator.federations import make_task, report

TASK = make_task(p=3, records=60)


def reports(count: int, prefix: str = "d", task: Task = TASK) -> dict[str, bytes]:
    """The reports of so many devices, by their names."""
    return {f"{prefix}{i}": report(task, f"{prefix}{i}", i) for i in range(count)}


def check(path: Path, devices: int, task: Task = TASK) -> None:
    """The store counts exactly so many devices, and its sums are those of its reports."""
    store = SqliteStore(path)
    made = Aggregator(store, [task])
    made.start(0.0)
    assert store.totals(1, "final").devices == devices
    assert agrees(store, made.federations["test"], "final")
    store.close()
