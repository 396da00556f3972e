"""The store in one SQLite file: every statement about its tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from aggregator.store.base import (
    LAST_NUMBER,
    PublishedRow,
    RefusedRow,
    ReportRow,
    StoreBusyError,
    StoreError,
    TaskRow,
    TotalsRow,
)
from aggregator.store.database import Database
from aggregator.store.schema import STEPS

# The newest are kept, the counters know all: garbage must not fill the disk.
QUARANTINE_ROWS = 10_000
QUARANTINE_BYTES = 4096  # of each


class SqliteStore(Database):
    """A `Store` for any number of workers on the same machine."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        super().__init__(path, STEPS, create=create)

    @contextmanager
    def snapshot(self) -> Iterator[SqliteStore]:
        """The store as it is now, to read from in any thread, whatever is written meanwhile."""
        try:
            reader = SqliteStore(self._path, create=False)
        except StoreError as error:  # it could be opened before
            raise StoreBusyError(str(error)) from error
        try:
            reader._db.execute("BEGIN")  # in WAL mode all reads up to its end see the same state
            yield reader
        except sqlite3.OperationalError as error:
            raise StoreBusyError(str(error)) from error
        finally:
            reader.close()

    # --- tasks ----------------------------------------------------------------------------------

    def add_task(self, digest: bytes, name: str, epoch: int, body: bytes, now: float) -> int:
        """The key of a task, which is added if it is new."""
        self._db.execute(
            "INSERT INTO task (digest, name, epoch, body, added) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (digest, name, epoch, body, now),
        )
        (key,) = self._db.execute("SELECT key FROM task WHERE digest = ?", (digest,)).fetchone()
        return int(key)

    def tasks(self) -> list[TaskRow]:
        """All tasks, oldest first."""
        query = "SELECT key, digest, name, epoch, body, added FROM task ORDER BY key"
        return list(self._rows(TaskRow, query))

    # --- reports --------------------------------------------------------------------------------

    def lookup(self, task: int, devices: Sequence[str]) -> dict[tuple[str, str], bytes]:
        """Ids of the reports that these devices have had counted, by device and stage."""
        rows = self._db.execute(
            "SELECT device, stage, id FROM report"
            " WHERE task = ? AND device IN (SELECT value FROM json_each(?))",
            (task, json.dumps(devices)),
        )
        return {(device, stage): id for device, stage, id in rows}

    def withdrawn(self, task: int, devices: Sequence[str] | None = None) -> set[str]:
        """Those of the devices (or of all) that were withdrawn."""
        rows = self._db.execute("SELECT device FROM withdrawn WHERE task = ?", (task,))
        barred = {device for (device,) in rows}  # few, if any
        return barred if devices is None else barred.intersection(devices)

    def insert(self, task: int, rows: Iterable[ReportRow]) -> None:
        """Keep counted reports."""
        self._db.executemany(
            "INSERT INTO report (task, device, stage, id, n, raw, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((task, row.device, row.stage, row.id, row.n, row.raw, row.at) for row in rows),
        )

    def reports(self, task: int, stage: str | None = None) -> Iterator[ReportRow]:
        """All reports of a task in the order in which they were counted."""
        query = (
            "SELECT device, stage, id, n, raw, at FROM report"
            " WHERE task = ? AND stage = coalesce(?, stage) ORDER BY seq"
        )
        return self._rows(ReportRow, query, task, stage)

    def counted(self, limit: int, before: int = LAST_NUMBER) -> list[tuple[int, int, str]]:
        """Number, task and device of the newest reports with smaller numbers, the newest first."""
        rows = self._db.execute(
            "SELECT seq, task, device FROM report WHERE seq < ? ORDER BY seq DESC LIMIT ?",
            (before, limit),
        )
        return [(seq, task, device) for seq, task, device in rows]

    def first_at(self, task: int, stage: str) -> float | None:
        """When the first report of a stage was counted."""
        row = self._db.execute(
            "SELECT at FROM report WHERE task = ? AND stage = ? ORDER BY seq LIMIT 1", (task, stage)
        ).fetchone()
        return float(row[0]) if row else None

    def withdraw(self, task: int, device: str, now: float) -> list[ReportRow]:
        """Forget the bytes of a device, bar it, and return what it had."""
        query = (
            "SELECT device, stage, id, n, raw, at FROM report"
            " WHERE task = ? AND device = ? AND raw NOT NULL"
        )
        rows = list(self._rows(ReportRow, query, task, device))
        self._db.execute(
            "UPDATE report SET raw = NULL WHERE task = ? AND device = ?", (task, device)
        )
        self._db.execute(
            "UPDATE refused SET raw = x''"
            " WHERE device = ? AND task = (SELECT name FROM task WHERE key = ?)",
            (device, task),
        )
        self._db.execute("INSERT OR IGNORE INTO withdrawn VALUES (?, ?, ?)", (task, device, now))
        return rows

    # --- numbers of devices -----------------------------------------------------------------------

    def instances(self, task: int, devices: Sequence[str]) -> dict[str, bytes]:
        """The numbers that hold for those of the devices that have asked."""
        rows = self._db.execute(
            "SELECT device, number FROM instances"
            " WHERE task = ? AND device IN (SELECT value FROM json_each(?))",
            (task, json.dumps(devices)),
        )
        return dict(rows.fetchall())

    def put_instances(self, task: int, numbers: Mapping[str, bytes]) -> None:
        """Replace the numbers of these devices."""
        self._db.executemany(
            "INSERT OR REPLACE INTO instances VALUES (?, ?, ?)",
            ((task, device, number) for device, number in numbers.items()),
        )

    # --- caches and what is on the wire ---------------------------------------------------------

    def totals(self, task: int, stage: str) -> TotalsRow:
        """Merged integers of one stage."""
        query = (
            'SELECT devices, records, change, data AS "values" FROM totals'
            " WHERE task = ? AND stage = ?"
        )
        return next(self._rows(TotalsRow, query, task, stage), TotalsRow())

    def put_totals(self, task: int, stage: str, row: TotalsRow) -> None:
        """Replace the merged integers of one stage."""
        self._db.execute(
            "INSERT OR REPLACE INTO totals VALUES (?, ?, ?, ?, ?, ?)",
            (task, stage, row.devices, row.records, row.change, row.values),
        )

    def published(self, task: int, kind: str) -> PublishedRow | None:
        """The newest message of a kind."""
        query = "SELECT body, version, change, at FROM published WHERE task = ? AND kind = ?"
        return next(self._rows(PublishedRow, query, task, kind), None)

    def put_published(self, task: int, kind: str, row: PublishedRow) -> None:
        """Replace the message of a kind."""
        self._db.execute(
            "INSERT OR REPLACE INTO published VALUES (?, ?, ?, ?, ?, ?)",
            (task, kind, row.body, row.version, row.change, row.at),
        )

    # --- quarantine -----------------------------------------------------------------------------

    def refuse(self, rows: Sequence[RefusedRow]) -> None:
        """Put messages into quarantine and count them; the oldest leave when there are too many."""
        self._db.executemany(
            "INSERT INTO refused (task, device, stage, id, reason, detail, length, raw, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(_refused_values, rows),
        )
        self._db.execute(
            "DELETE FROM refused WHERE seq <= (SELECT max(seq) FROM refused) - ?",
            (QUARANTINE_ROWS,),
        )
        self._db.executemany(
            "INSERT INTO refused_count VALUES (?, ?, 1)"
            " ON CONFLICT DO UPDATE SET count = count + 1",
            ((row.task, row.reason) for row in rows),
        )

    def refused(self, limit: int) -> list[RefusedRow]:
        """The newest refused messages, newest first."""
        query = (
            "SELECT task, device, stage, id, reason, detail, length, raw, at FROM refused"
            " ORDER BY seq DESC LIMIT ?"
        )
        return list(self._rows(RefusedRow, query, limit))

    def refused_counts(self) -> dict[tuple[str, str], int]:
        """How many were refused in all, by task and reason."""
        rows = self._db.execute("SELECT task, reason, count FROM refused_count")
        return {(task, reason): count for task, reason, count in rows}


def _refused_values(row: RefusedRow) -> tuple[object, ...]:
    about = (row.task, row.device, row.stage, row.id, row.reason, row.detail)
    return (*about, row.length, row.raw[:QUARANTINE_BYTES], row.at)


def open_store(address: str, *, create: bool = True) -> SqliteStore:
    """The store at an address such as `sqlite:/var/lib/fsir/store.db`."""
    kind, separator, path = address.partition(":")
    if kind != "sqlite" or not separator or not path:
        raise StoreError(
            f"store {address!r}: an address is sqlite:PATH, for example sqlite:fsir.db"
        )
    return SqliteStore(path, create=create)
