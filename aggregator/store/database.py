"""One SQLite file: how it is opened, prepared and changed.

WAL mode, so that `status` and friends read while the daemon writes. `synchronous=FULL`: each commit
is on the disk before a report is acknowledged, because the device deletes its copy when it gets the
receipt; with NORMAL a power cut could take back a transaction that a receipt has been sent for.
Batches make it cheap. Every change happens under BEGIN IMMEDIATE: read, modify and write of the
totals cannot interleave with another worker's.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from aggregator.store.errors import StoreBusyError, StoreError
from aggregator.store.tables.statements import Statements

BUSY_SECONDS = 30.0
PAGE_BYTES = 8192  # of a new file: five reports about 561 features, of which 4096 would take two
CHECKPOINT_BYTES = 16 * 2**20  # of log: each checkpoint waits for the disk twice
_AGAIN_SECONDS = 0.02  # between two tries to switch the log on

_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_COLUMNS = "SELECT name, dflt_value FROM pragma_table_info(?)"


class Database(Statements):
    """One file, any number of processes on the same machine.

    Its format is the number of `steps` that have made it: the statements of each, in their order.
    """

    AMONG: ClassVar[str] = "IN (SELECT value FROM json_each(?))"
    NO_LIMIT: ClassVar[int | None] = -1
    _db: sqlite3.Connection

    def __init__(
        self, path: str | Path, steps: Sequence[str], *, create: bool, update: bool = False
    ) -> None:
        if not create and not Path(path).is_file():
            raise StoreError(
                f"store {path}: there is no such file; "
                "give the --store that `serve` was started with"
            )
        self._path = path
        try:
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            self._db.execute(f"PRAGMA page_size={PAGE_BYTES}")
            self._use_wal()
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten
            (page,) = self._db.execute("PRAGMA page_size").fetchone()  # an older file has its own
            self._db.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_BYTES // page}")
            self._prepare(steps, create or update)
        except sqlite3.Error as error:
            raise StoreError(
                f"store {path}: {error}; give the path of a writable file in an existing folder"
            ) from None

    def _use_wal(self) -> None:
        """Insist: of two workers who create the store together SQLite lets one fail at once."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(_AGAIN_SECONDS)

    def _prepare(self, steps: Sequence[str], update: bool) -> None:
        found = self._format()
        if found == len(steps):
            return  # without a lock, so that a reader never waits for the daemon
        if 0 < found < len(steps) and not update:
            # Who only looks at it leaves it to the daemon, which may be of that age too.
            self._imagine(steps)
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._take_steps(steps)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _take_steps(self, steps: Sequence[str]) -> None:
        """Inside a transaction: the tables that are missing, unless another worker was faster."""
        found = self._format()
        if found > len(steps):
            raise StoreError(
                f"store {self._path}: format {found}, this program reads up to {len(steps)}; "
                "use its own version"
            )
        _take(self._db, steps[found:])
        self._db.execute(f"PRAGMA user_version={len(steps)}")

    def _imagine(self, steps: Sequence[str]) -> None:
        """The tables as they are today, to read from, and for this connection alone.

        Those that came later are empty, and columns that came later have their default.
        """
        with contextlib.closing(sqlite3.connect(":memory:")) as newest:
            _take(newest, steps)
            tables = newest.execute(_TABLES).fetchall()
            columns = {name: newest.execute(_COLUMNS, (name,)).fetchall() for name, _ in tables}
        for name, text in tables:
            there = {column for column, _ in self._db.execute(_COLUMNS, (name,))}
            if not there:
                self._db.execute(text.replace("CREATE", "CREATE TEMP", 1))
            elif any(column not in there for column, _ in columns[name]):
                seen = ", ".join(
                    f'"{column}"' if column in there else f'{default or "NULL"} AS "{column}"'
                    for column, default in columns[name]
                )
                self._db.execute(f"CREATE TEMP VIEW {name} AS SELECT {seen} FROM main.{name}")

    def _format(self) -> int:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        return int(version)

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, alone among all workers."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except BaseException as error:
            # When the disk is full SQLite has rolled back by itself.
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            # Locked, full, broken: not the fault of what was to be written. (The subclasses of
            # DatabaseError are.)
            if isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError:
                raise StoreBusyError(str(error)) from error
            raise

    def scrub(self) -> bool:
        """Empty the log, which still has the pages from before a deletion.

        False if a reader needs it all the while.
        """
        ((busy, _, _),) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not busy

    def shrink(self) -> bool:
        """Give back to the disk what was deleted; False while the store is in use."""
        try:
            self._db.execute("VACUUM")
        except sqlite3.OperationalError:
            return False
        return True

    def _put(self, table: str, columns: str, keys: int) -> str:
        places = ", ".join("?" for _ in columns.split(", "))
        return f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({places})"

    def _list(self, names: Sequence[str]) -> str:
        return json.dumps(names)


def _take(db: sqlite3.Connection, steps: Sequence[str]) -> None:
    for step in steps:
        for statement in step.split(";")[:-1]:
            db.execute(statement)
