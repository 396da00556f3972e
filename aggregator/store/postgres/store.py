"""The store in PostgreSQL: how it is opened, prepared and changed.

Workers who count reports hold a lock together; whoever withdraws, chooses the active set, publishes
or begins a task holds it alone. A commit returns when it is on the disk (and, with a synchronous
standby, on that one's, too): that is what a receipt promises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import psycopg

from aggregator.store.errors import StoreBusyError, StoreError
from aggregator.store.postgres.address import REMEDY, options_of, shown
from aggregator.store.postgres.batches import Batches
from aggregator.store.postgres.link import PostgresLink
from aggregator.store.postgres.parts import Parts
from aggregator.store.postgres.preparing import prepare
from aggregator.store.postgres.workers import LOCK, Workers
from aggregator.store.rows import PublishedRow, RefusedRow
from aggregator.store.tables.copies import Copies
from aggregator.store.tables.devices import Devices
from aggregator.store.tables.history import History
from aggregator.store.tables.quarantine import Quarantine
from aggregator.store.tables.shares import Shares

_ALONE = f"SELECT pg_advisory_xact_lock({LOCK})"
_TOGETHER = f"SELECT pg_advisory_xact_lock_shared({LOCK})"
_STILL = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_PRIMARY = "target_session_attrs=read-write"
_NUMBERED = {"task": "key", "report": "seq", "refused": "seq", "share": "seq", "cohort": "key"}


class PostgresStore(Workers, Batches, Devices, History, Parts, Quarantine, Shares, Copies):
    """A `Store` for workers on any number of machines."""

    AMONG: ClassVar[str] = "= ANY(?)"
    NO_LIMIT: ClassVar[int | None] = None
    apart: ClassVar[bool] = True
    leftover: ClassVar[str] = (
        "PostgreSQL may keep deleted bytes in its log, on standbys and in backups until these are "
        "recycled: see docs/scale.md"
    )
    _db: PostgresLink

    def __init__(self, address: str, *, create: bool = True, update: bool = False) -> None:
        super().__init__()
        self._address = address
        self._writes = create or update
        self._db = PostgresLink(options_of(address), self._greet)
        try:
            prepare(self._db, self._writes)
        except StoreError as error:
            self._db.close()
            name = shown(address)
            if isinstance(error, StoreBusyError):
                raise StoreBusyError(f"store {name}: {error}{_remedy(str(error))}") from None
            raise StoreError(f"store {name}: {error}") from None

    def close(self) -> None:
        """End the connection, and with it all locks."""
        self._db.close()

    def _greet(self, raw: psycopg.Connection[Any]) -> None:
        """On each new connection: is it one to write to, and are our locks there?"""
        standby = raw.execute("SELECT pg_is_in_recovery()").fetchone()
        if self._writes and standby and standby[0]:
            raise StoreBusyError(
                "this is a standby, which can only be read; name all servers and let the "
                "connection find the one to write to: "
                f"postgresql://A,B/NAME?{_PRIMARY}"
            )
        self._enter(raw)

    # --- transactions -----------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, alone among all workers."""
        with self._db.block():
            self._db.native(_ALONE, ("store",))
            yield

    @contextmanager
    def adding(self) -> Iterator[None]:
        """All or nothing, beside others who add; a worker without a name is alone all the same."""
        with self._db.block():
            self._db.native(_TOGETHER if self._worker else _ALONE, ("store",))
            yield

    @contextmanager
    def snapshot(self) -> Iterator[PostgresStore]:
        """The store as it is now, to read from in any thread, whatever is written meanwhile."""
        try:
            reader = PostgresStore(self._address, create=False)
        except StoreError as error:  # it could be opened before
            raise StoreBusyError(str(error)) from error
        try:
            reader._db.native("SET idle_in_transaction_session_timeout = 0")  # it may think
            with reader._db.block(_STILL):
                yield reader
        finally:
            reader.close()

    def scrub(self) -> bool:
        """Let the server reuse the room of what was deleted; where else it is, is not ours."""
        self.shrink()
        return False

    def shrink(self) -> bool:
        """Let the server reuse the room of what was deleted."""
        for table in ("report", "refused", "share"):
            self._db.native(f"VACUUM {table}")
        return True

    # --- moving -----------------------------------------------------------------------------------

    def loaded(self) -> None:
        """Numbers that are given from now on come after those that were loaded."""
        for table, column in _NUMBERED.items():
            self._db.native(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'),"
                f" max({column})) FROM {table}"
            )

    def load(self, table: str, rows: Iterable[Sequence[Any]]) -> int:
        """Put rows into a table; what a text of the server cannot hold is written out."""
        return super().load(table, (tuple(map(_plain_text, row)) for row in rows))

    def _stream(self, query: str) -> Iterator[Any]:
        return self._db.stream(query)

    # --- what differs -----------------------------------------------------------------------------

    def _put(self, table: str, columns: str, keys: int) -> str:
        names = columns.split(", ")
        places = ", ".join("?" for _ in names)
        changes = ", ".join(f"{name} = excluded.{name}" for name in names[keys:])
        return (
            f"INSERT INTO {table} ({columns}) VALUES ({places})"
            f" ON CONFLICT ({', '.join(names[:keys])}) DO UPDATE SET {changes}"
        )

    def _list(self, names: Sequence[str]) -> list[str]:
        return list(names)

    def put_published(self, task: int, kind: str, row: PublishedRow) -> None:
        """Replace the message of a kind, and tell all workers."""
        super().put_published(task, kind, row)
        self._tell()

    def refuse(self, rows: Sequence[RefusedRow]) -> None:
        """Put messages into quarantine: what a text of the server cannot hold is written out."""
        super().refuse([replace(row, detail=_plain(row.detail)) for row in rows])


def _plain_text(value: Any) -> Any:
    return _plain(value) if isinstance(value, str) else value


def _plain(text: str) -> str:
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def _remedy(error: str) -> str:
    if _PRIMARY in error:
        return ""  # it has said so itself
    if "password" in error or "authentication" in error:
        return f"; {REMEDY}"
    return "; give the address of a database that exists, of a server that runs"
