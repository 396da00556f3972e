"""The store in one SQLite file, and what only SQLite understands."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from aggregator.store.database import Database
from aggregator.store.errors import StoreBusyError, StoreError
from aggregator.store.rows import Counted, Place, ReportRow
from aggregator.store.schema import STEPS
from aggregator.store.tables.copies import Copies
from aggregator.store.tables.devices import Devices
from aggregator.store.tables.history import History
from aggregator.store.tables.quarantine import Quarantine
from aggregator.store.tables.records import Records
from aggregator.store.tables.reports import REPORT, Reports
from aggregator.store.tables.rounds import Rounds
from aggregator.store.tables.shares import Shares
from fsir.wire.messages import STAGES


class SqliteStore(Database, Devices, History, Quarantine, Records, Reports, Rounds, Shares, Copies):
    """A `Store` for any number of workers on the same machine."""

    apart: ClassVar[bool] = False
    leftover: ClassVar[str] = (
        "the log of the store was in use, and still has its bytes; "
        "repeat this command to remove them there too"
    )

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

    def adding(self) -> AbstractContextManager[None]:
        """Whoever writes is alone, whatever it is."""
        return self.transaction()

    def join(self, worker: str) -> None:
        """Workers need no names here."""

    def leads(self, task: int) -> bool:
        """Whoever comes first does what is due, inside a transaction."""
        return True

    def loaded(self) -> None:
        """SQLite goes on from the largest number by itself."""

    def _stream(self, query: str) -> Iterator[Any]:
        return self._db.execute(query)

    def news(self) -> bool:
        """Whether somebody else may have published something: ask the table, it is near."""
        return True

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

    def insert(self, task: int, rows: Iterable[ReportRow]) -> dict[Place, bytes]:
        """Keep counted reports; nobody else can have put one there meanwhile."""
        self._db.executemany(
            f"INSERT INTO report (task, {', '.join(ReportRow._fields)})"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(task, *row) for row in rows],
        )
        return {}

    def reports(self, task: int, stage: str | None = None) -> Iterator[ReportRow]:
        """All reports of a task in the order in which they were counted."""
        query = (
            f"SELECT {REPORT} FROM report"
            " WHERE task = ? AND stage = coalesce(?, stage) ORDER BY seq"
        )
        return self._rows(ReportRow, query, task, stage)
