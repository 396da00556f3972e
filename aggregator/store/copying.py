"""A federation moves: everything in one store goes to another, of either engine."""

from __future__ import annotations

from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from aggregator.store.tables.copies import COLUMNS
from fsir.wire.messages import STAGES


def copy(source: Store, target: Store) -> dict[str, int]:
    """Inside a transaction of an empty target, from a snapshot: how many rows each table had."""
    if target.tasks():
        names = ", ".join(row.name for row in target.tasks())
        raise StoreError(f"the store to copy to holds tasks already ({names}); give an empty one")
    target.put_setting("worker", None)
    counts = {table: target.load(table, source.rows_of(table)) for table in COLUMNS}
    target.loaded()
    for task in source.tasks():
        for stage in STAGES:
            _copy_totals(source, target, task.key, stage)
    return counts


def _copy_totals(source: Store, target: Store, task: int, stage: str) -> None:
    for row in source.rounds(task, stage):
        totals = source.totals(task, stage, row.round)
        target.put_totals(task, stage, totals, row.round)
        if target.totals(task, stage, row.round) != totals:
            raise StoreError(f"the totals of {stage}, round {row.round}, did not arrive")
