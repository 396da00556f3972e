"""The tables of a state in memory, for simulated devices: a few hundred bytes instead of a file.

A table is never changed, but replaced: so a transaction undoes all by going back to the ones that
were there before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from edge_agent.errors import StateError, StorageError
from edge_agent.state.schema import SCHEMA

Row = tuple[Any, ...]


class _Table(NamedTuple):
    """What the schema says about a table; columns are told by their place."""

    places: dict[str, int]
    defaults: Row
    required: tuple[str, ...]
    keys: tuple[tuple[int, ...], ...]  # which of these are the same is the same row


@cache
def _tables() -> dict[str, _Table]:
    """Read from the schema of the file, by who knows how: so there is only one."""
    db = sqlite3.connect(":memory:")
    db.executescript(SCHEMA)
    names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name: _table(db, name) for (name,) in names}


def _table(db: sqlite3.Connection, name: str) -> _Table:
    columns = db.execute("SELECT name, dflt_value, [notnull] FROM pragma_table_info(?)", (name,))
    described = columns.fetchall()
    texts = [text for _, text, _ in described]
    places = {column: place for place, (column, _, _) in enumerate(described)}
    indices = db.execute("SELECT name FROM pragma_index_list(?) WHERE [unique]", (name,)).fetchall()
    keys = [db.execute("SELECT name FROM pragma_index_info(?)", index) for index in indices]
    return _Table(
        places=places,
        defaults=db.execute(f"SELECT {', '.join(text or 'NULL' for text in texts)}").fetchone(),
        required=tuple(column for column, _, needed in described if needed),
        keys=tuple(tuple(places[column] for (column,) in key) for key in keys),
    )


class Memory:
    """All tables of one device; they go with the process."""

    def __init__(self) -> None:
        self.where = "memory"
        self._rows: dict[str, tuple[Row, ...]] = {}
        self._writes = False  # whether a transaction is open

    def close(self) -> None:
        """Let go of them."""
        self._rows = {}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        if self._writes:
            raise StorageError(f"{self.where}: a transaction within a transaction")
        before = dict(self._rows)
        self._writes = True
        try:
            yield
        except BaseException:
            self._rows = before
            raise
        finally:
            self._writes = False

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """One more row: values by the names of their columns."""
        made = _made(table, row)
        if _others(table, self._all(table), made) != self._all(table):
            raise StateError(f"{self.where}: the state holds this already: {table}")
        self._rows[table] = (*self._all(table), made)

    def put(self, table: str, row: Mapping[str, Any]) -> None:
        """One more row, in place of the one with the same key."""
        made = _made(table, row)
        self._rows[table] = (*_others(table, self._all(table), made), made)

    def change(self, table: str, values: Mapping[str, Any], **where: Any) -> None:
        """Other values in the rows that have these; keys stay as they are."""
        places = _tables()[table].places
        has = _condition(table, where)
        new = {places[column]: value for column, value in values.items()}
        self._rows[table] = tuple(
            tuple(new.get(at, value) for at, value in enumerate(row)) if has(row) else row
            for row in self._all(table)
        )

    def remove(self, table: str, **where: Any) -> None:
        """No more rows that have these values."""
        has = _condition(table, where)
        self._rows[table] = tuple(row for row in self._all(table) if not has(row))

    def find(self, table: str, columns: Sequence[str], **where: Any) -> list[Row]:
        """These columns of the rows that have these values."""
        return list(self.each(table, columns, **where))

    def each(self, table: str, columns: Sequence[str], **where: Any) -> Iterator[Row]:
        """The same, one row at a time."""
        places = _tables()[table].places
        has = _condition(table, where)
        wanted = [places[column] for column in columns]
        return (tuple(row[at] for at in wanted) for row in self._all(table) if has(row))

    def named(self, table: str, **where: Any) -> list[dict[str, Any]]:
        """All columns of the rows that have these values, by their names."""
        names = _tables()[table].places
        return [dict(zip(names, row, strict=True)) for row in self.each(table, [*names], **where)]

    def overwrite(self) -> None:
        """Nothing is left of what was removed."""

    def _all(self, table: str) -> tuple[Row, ...]:
        return self._rows.get(table, ())


def _made(table: str, row: Mapping[str, Any]) -> Row:
    kind = _tables()[table]
    made = list(kind.defaults)
    for column, value in row.items():
        made[kind.places[column]] = value
    for column in kind.required:
        if made[kind.places[column]] is None:
            raise StateError(f"memory: {table}.{column} must have a value")
    return tuple(made)


def _others(table: str, rows: tuple[Row, ...], made: Row) -> tuple[Row, ...]:
    """The rows that have another key than this one."""
    for key in _tables()[table].keys:
        rows = tuple(row for row in rows if any(row[at] != made[at] for at in key))
    return rows


def _condition(table: str, where: Mapping[str, Any]) -> Callable[[Row], bool]:
    """Whether a row has these values."""
    places = _tables()[table].places
    wanted = [(places[column], value) for column, value in where.items()]
    return lambda row: all(row[at] == value for at, value in wanted)
