"""All rows of a store, table by table: how a federation moves from one engine to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from aggregator.store.tables.statements import Statements

_PLACE = "task, device, stage, round"
_POOL = 'task, stage, round, "group"'
# Their columns; the first of them give an order. The totals are not here: engines keep them apart.
COLUMNS = {
    "task": "key, digest, name, epoch, body, added",
    "report": f"seq, {_PLACE}, id, n, raw, at",
    "taken": "task, stage, device, rounds",
    "pattern": "task, stage, rounds, devices",
    "withdrawn": "task, device, at",
    "readmitted": f"{_PLACE}, id",
    "instances": "task, device, number",
    "published": "task, kind, body, version, change, at",
    "version": "task, version, at, devices, records, dimension, expected_error,"
    " expected_accuracy, angle, forecast_error, forecast_accuracy, round, moved, drift",
    "refused": "seq, task, device, stage, id, reason, detail, length, raw, at",
    "refused_count": "task, reason, count",
    "roster": "task, device, at",
    "setting": "name, value",
    "share": f"seq, {_POOL}, id, device, proposed",
    "opened": "task, id, device, stage, round, number",
    "cohort": f"key, {_POOL}, number, state, at, devices, records, own, other, answer",
    "noise_key": 'task, stage, "group", number, key',
}
_AT_ONCE = 1000


class Copies(Statements):
    """The part of a store that gives everything, and takes it."""

    def _stream(self, query: str) -> Iterator[Any]:
        """The answer to a query, however long, a few rows at a time."""
        raise NotImplementedError

    def rows_of(self, table: str) -> Iterator[Sequence[Any]]:
        """All rows of a table; on a snapshot."""
        yield from self._stream(f"SELECT {COLUMNS[table]} FROM {table} ORDER BY 1, 2")

    def load(self, table: str, rows: Iterable[Sequence[Any]]) -> int:
        """Inside a transaction: put rows into a table that has none; how many."""
        columns = COLUMNS[table]
        places = ", ".join("?" for _ in columns.split(", "))
        every = iter(rows)
        count = 0
        while some := list(islice(every, _AT_ONCE)):
            self._db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", some)
            count += len(some)
        return count
