"""The store in one SQLite file: every statement about its tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from aggregator.store.base import (
    LAST_NUMBER,
    Counted,
    Place,
    PublishedRow,
    ReportRow,
    StoreBusyError,
    StoreError,
    TaskRow,
)
from aggregator.store.devices import Devices
from aggregator.store.history import History
from aggregator.store.quarantine import Quarantine
from aggregator.store.rounds import Rounds
from aggregator.store.schema import STEPS
from aggregator.store.shares import Shares
from fsir.wire.messages import STAGES

_REPORT = "device, stage, round, id, n, raw, at"


class SqliteStore(Devices, History, Quarantine, Rounds, Shares):
    """A `Store` for any number of workers on the same machine."""

    def __init__(self, path: str | Path, *, create: bool = True, update: bool = False) -> None:
        super().__init__(path, STEPS, create=create, update=update)

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

    def lookup(self, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        """Ids of the reports that were counted in these places."""
        return self._ids("report", task, places)

    def _ids(self, table: str, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        rows = self._db.execute(
            f"SELECT t.device, t.stage, t.round, t.id FROM json_each(?) p CROSS JOIN {table} t"
            " WHERE t.task = ? AND t.device = json_extract(p.value, '$[0]')"
            " AND t.stage = json_extract(p.value, '$[1]')"
            " AND t.round = json_extract(p.value, '$[2]')",
            (json.dumps(places), task),
        )
        return {(device, stage, round): id for device, stage, round, id in rows}

    def last(self, task: int, devices: Sequence[str]) -> dict[tuple[str, str], Counted]:
        """The last round that these devices have had counted, by device and stage."""
        rows = self._db.execute(
            "SELECT r.device, r.stage, r.round, r.id"
            " FROM json_each(:devices) d CROSS JOIN json_each(:stages) s CROSS JOIN report r"
            " WHERE r.task = :task AND r.device = d.value AND r.stage = s.value AND r.round ="
            " (SELECT max(q.round) FROM report q"
            " WHERE q.task = :task AND q.device = d.value AND q.stage = s.value)",
            {"task": task, "devices": json.dumps(devices), "stages": json.dumps(STAGES)},
        )
        return {(device, stage): Counted(round, id) for device, stage, round, id in rows}

    def withdrawn(self, task: int, devices: Sequence[str] | None = None) -> set[str]:
        """Those of the devices (or of all) that were withdrawn."""
        rows = self._db.execute("SELECT device FROM withdrawn WHERE task = ?", (task,))
        barred = {device for (device,) in rows}  # few, if any
        return barred if devices is None else barred.intersection(devices)

    def insert(self, task: int, rows: Iterable[ReportRow]) -> None:
        """Keep counted reports."""
        self._db.executemany(
            "INSERT INTO report (task, device, stage, round, id, n, raw, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            ((task, r.device, r.stage, r.round, r.id, r.n, r.raw, r.at) for r in rows),
        )

    def reports(self, task: int, stage: str | None = None) -> Iterator[ReportRow]:
        """All reports of a task in the order in which they were counted."""
        query = (
            f"SELECT {_REPORT} FROM report"
            " WHERE task = ? AND stage = coalesce(?, stage) ORDER BY seq"
        )
        return self._rows(ReportRow, query, task, stage)

    def counted(self, limit: int, before: int = LAST_NUMBER) -> list[tuple[int, int, str]]:
        """Number, task and device of the newest reports with smaller numbers, the newest first.

        Of several rounds of a stage it is the last one.
        """
        rows = self._db.execute(
            "SELECT seq, task, device FROM report r WHERE seq < ? AND NOT EXISTS"
            " (SELECT 1 FROM report q WHERE q.task = r.task AND q.device = r.device"
            " AND q.stage = r.stage AND q.round > r.round) ORDER BY seq DESC LIMIT ?",
            (before, limit),
        )
        return [(seq, task, device) for seq, task, device in rows]

    def first_at(self, task: int, stage: str) -> float | None:
        """When the first report of a stage was counted."""
        (at,) = self._db.execute(
            "SELECT min(at) FROM report WHERE task = ? AND stage = ?", (task, stage)
        ).fetchone()
        return at if at is None else float(at)

    def withdraw(self, task: int, device: str, now: float) -> list[ReportRow]:
        """Forget the bytes of a device, bar it, and return what it had."""
        full = "task = ? AND device = ? AND length(raw) > 0"
        query = f"SELECT {_REPORT} FROM report WHERE {full}"
        rows = list(self._rows(ReportRow, query, task, device))
        self._db.execute(f"UPDATE report SET raw = NULL WHERE {full}", (task, device))
        self._db.execute(
            "UPDATE refused SET raw = x''"
            " WHERE device = ? AND task = (SELECT name FROM task WHERE key = ?)",
            (device, task),
        )
        self._db.execute("INSERT OR IGNORE INTO withdrawn VALUES (?, ?, ?)", (task, device, now))
        return rows

    def readmit(self, task: int, device: str) -> dict[Place, bytes] | None:
        """Let a withdrawn device in again; the ids of what it had, or None if it was not.

        The bytes are gone, and the next report in such a place counts only if it is the same.
        """
        gone = self._db.execute(
            "DELETE FROM withdrawn WHERE task = ? AND device = ?", (task, device)
        )
        if not gone.rowcount:
            return None
        deleted = "FROM report WHERE task = ? AND device = ? AND raw IS NULL"
        rows = self._db.execute(f"SELECT stage, round, id {deleted}", (task, device)).fetchall()
        self._db.executemany(
            "INSERT OR REPLACE INTO readmitted VALUES (?, ?, ?, ?, ?)",
            # One that had none is remembered, too: it may have been told that it is out.
            ((task, device, *row) for row in rows or [("", 1, b"")]),
        )
        self._db.execute(f"DELETE {deleted}", (task, device))
        return {(device, stage, round): id for stage, round, id in rows}

    def readmitted(self, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        """Ids of deleted reports that alone may come again in these places."""
        return self._ids("readmitted", task, places)

    def let_in_again(self, task: int) -> set[str]:
        """Devices that were withdrawn once, and are not any more."""
        rows = self._db.execute(
            "SELECT device FROM readmitted a WHERE task = ? AND NOT EXISTS (SELECT 1 FROM"
            " withdrawn w WHERE w.task = a.task AND w.device = a.device)",
            (task,),
        )
        return {device for (device,) in rows}

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

    # --- what is on the wire --------------------------------------------------------------------

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

    # --- settings -------------------------------------------------------------------------------

    def setting(self, name: str) -> str | None:
        """What was last put under a name."""
        row = self._db.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def put_setting(self, name: str, value: str | None) -> None:
        """Keep a value under a name; None forgets it."""
        self._db.execute("DELETE FROM setting WHERE name = ?", (name,))
        if value is not None:
            self._db.execute("INSERT INTO setting VALUES (?, ?)", (name, value))


def open_store(address: str, *, create: bool = True, update: bool = False) -> SqliteStore:
    """The store at an address such as `sqlite:/var/lib/fsir/store.db`.

    One that is not created must exist; it is read as it is, or brought up to date first.
    """
    kind, separator, path = address.partition(":")
    if kind != "sqlite" or not separator or not path:
        raise StoreError(
            f"store {address!r}: an address is sqlite:PATH, for example sqlite:fsir.db"
        )
    return SqliteStore(path, create=create, update=update)
