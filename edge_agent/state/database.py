"""The file under the state: opened with care, locked for one agent, written all or nothing.

`edge_agent.state.tables.memory` keeps the same tables without a file.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edge_agent.errors import StateError, StorageError

FILE = "agent.sqlite"
_WAIT_SECONDS = 30.0  # for someone who reads the status just now
# EXTRA also syncs the directory: without it a power cut could undo the commit of a report that was
# sent, and the device would draw its noise again. What is deleted is overwritten: it may be
# somebody's records.
_SETTINGS = (
    "journal_mode = DELETE",
    "synchronous = EXTRA",
    "secure_delete = ON",
    "cache_size = -512",
)

_DISK = "Make room, or mend the disk; what cannot be stored does not leave this device"
_DAMAGED = (
    "The state is damaged, and the ledger with it: "
    "go on with a new directory under a new device name"
)


class Storage:
    """One SQLite file in a directory that no other agent uses.

    Rows come in the order in which they were put there.
    """

    def __init__(self, directory: Path, read_only: bool = False, *, create: bool = True) -> None:
        if read_only or not create:
            _check_exists(directory / FILE)
        self.where = str(directory)
        self._lock: int | None = None
        if read_only:
            self._db = _open_read_only(directory / FILE)
        else:
            self._lock = _locked(directory)
            try:
                self._db = _open(directory / FILE)
            except BaseException:
                os.close(self._lock)
                raise

    def close(self) -> None:
        """Let go of the file and of the lock."""
        self._db.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; whatever the disk refuses is a `StorageError`."""
        with self._translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise StateError(f"{self.where}: the state holds this already: {error}") from error
        except sqlite3.Error as error:
            # The class itself is not the disk, but what is on it.
            remedy = _DAMAGED if type(error) is sqlite3.DatabaseError else _DISK
            raise StorageError(f"{self.where}: {error}. {remedy}") from error

    def run(self, statement: str, *values: Any) -> None:
        """Execute a statement."""
        with self._translated():
            self._db.execute(statement, values)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Everything that a query finds."""
        with self._translated():
            return self._db.execute(query, values).fetchall()

    # --- tables -----------------------------------------------------------------------------------

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """One more row: values by the names of their columns."""
        self.run(_insertion("INSERT", table, row), *row.values())

    def put(self, table: str, row: Mapping[str, Any]) -> None:
        """One more row, in place of the one with the same key."""
        self.run(_insertion("INSERT OR REPLACE", table, row), *row.values())

    def change(self, table: str, values: Mapping[str, Any], **where: Any) -> None:
        """Other values in the rows that have these."""
        columns = ", ".join(f"{column} = ?" for column in values)
        statement = f"UPDATE {table} SET {columns}{_where(where)}"
        self.run(statement, *values.values(), *where.values())

    def remove(self, table: str, **where: Any) -> None:
        """No more rows that have these values."""
        self.run(f"DELETE FROM {table}{_where(where)}", *where.values())

    def find(self, table: str, columns: Sequence[str], **where: Any) -> list[tuple[Any, ...]]:
        """These columns of the rows that have these values."""
        return self.rows(_query(table, ", ".join(columns), where), *where.values())

    def each(self, table: str, columns: Sequence[str], **where: Any) -> Iterator[tuple[Any, ...]]:
        """The same, one row at a time."""
        with self._translated():
            query = _query(table, ", ".join(columns), where)
            yield from self._db.execute(query, tuple(where.values()))

    def named(self, table: str, **where: Any) -> list[dict[str, Any]]:
        """All columns of the rows that have these values, by their names."""
        with self._translated():
            cursor = self._db.execute(_query(table, "*", where), tuple(where.values()))
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def overwrite(self) -> None:
        """Leave nothing in the file of what was removed."""
        self.run("VACUUM")


def _insertion(verb: str, table: str, row: Mapping[str, Any]) -> str:
    return f"{verb} INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"


def _where(values: Mapping[str, Any]) -> str:
    return " WHERE " + " AND ".join(f"{column} = ?" for column in values) if values else ""


def _query(table: str, columns: str, where: Mapping[str, Any]) -> str:
    return f"SELECT {columns} FROM {table}{_where(where)} ORDER BY rowid"


def _check_exists(path: Path) -> None:
    """Who looks or forgets must not make an empty state where a name was mistyped."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise StateError(
            f"there is no state file {path}: has an agent run with this --state?"
        ) from None
    except OSError as error:
        raise StateError(
            f"state file {path}: {error.strerror}; whoever runs the agent may read it"
        ) from None


def _locked(directory: Path) -> int:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise StateError(
            f"state directory {directory}: {error.strerror}; give a directory of your own"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # goes with the process, however it ends
    except OSError:
        os.close(lock)
        raise StateError(
            f"another agent is using {directory}: stop it, or give this one its own directory"
        ) from None
    return lock


def _open(path: Path) -> sqlite3.Connection:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
        db = sqlite3.connect(path, isolation_level=None, timeout=_WAIT_SECONDS)
        for setting in _SETTINGS:
            db.execute(f"PRAGMA {setting}").fetchall()
    except (OSError, sqlite3.Error) as error:
        raise StateError(
            f"state file {path}: {error}; check its owner and the disk, or use another one"
        ) from error
    return db


def _open_read_only(path: Path) -> sqlite3.Connection:
    try:
        # Open for writing all the same, where that is allowed: an agent whose disk was full, or
        # that was killed, leaves a journal behind, and nobody can read before it has been rolled
        # back.
        where = f"{path.resolve().as_uri()}?mode=rw"
        db = sqlite3.connect(where, uri=True, isolation_level=None, timeout=_WAIT_SECONDS)
        db.execute("PRAGMA query_only = ON")
    except (OSError, sqlite3.Error) as error:
        raise StateError(
            f"state file {path}: {error}; check its owner: whoever runs the agent may read it"
        ) from error
    return db
