"""Workers in processes of their own on one store."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

from aggregator.core import Aggregator
from aggregator.rounds.recount import agrees
from aggregator.store.sqlite import SqliteStore
from tests.aggregator.federations import make_task, report, topic

TASK = make_task(p=3, records=60)


def _work(path: str, number: int, reports: list[tuple[str, bytes]]) -> None:
    worker = Aggregator(SqliteStore(path), [TASK])
    worker.start(0.0)
    # Everyone has everything, in another order.
    for about, raw in reports[number:] + reports[:number]:
        worker.take(about, raw)
        worker.commit(1.0)


def test_processes_that_write_at_the_same_time_count_once(tmp_path: Path) -> None:
    reports = [(topic(TASK, f"d{i}"), report(TASK, f"d{i}", i)) for i in range(40)]
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=_work, args=(str(tmp_path / "s.db"), i, reports)) for i in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    store = SqliteStore(tmp_path / "s.db")
    made = Aggregator(store, [TASK])
    made.start(0.0)
    assert store.totals(1, "final").devices == 40
    assert agrees(store, made.federations["test"], "final")
    store.close()
