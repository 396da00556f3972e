"""How far each task, and its recognition, has come in each source."""

from __future__ import annotations

import json
from typing import Any

from edge_agent.records import START, Position
from edge_agent.state.database import Storage


class Positions:
    """The table of positions in the state file."""

    def __init__(self, db: Storage) -> None:
        self._db = db

    def of(self, name: str, source: str) -> Position:
        """How far someone has come in a source."""
        query = "SELECT ordinal, cursor FROM positions WHERE task = ? AND source = ?"
        return _position(self._db.rows(query, name, source))

    def last(self, source: str) -> Position:
        """The furthest that anyone has come in a source."""
        query = (
            "SELECT ordinal, cursor FROM positions WHERE source = ? ORDER BY ordinal DESC LIMIT 1"
        )
        return _position(self._db.rows(query, source))

    def all(self, source: str) -> list[Position]:
        """How far everyone has come in a source."""
        query = "SELECT ordinal, cursor FROM positions WHERE source = ?"
        return [_position([row]) for row in self._db.rows(query, source)]

    def put(self, name: str, source: str, position: Position) -> None:
        """Note a position, inside of a transaction."""
        cursor = None if position.cursor is None else json.dumps(position.cursor)
        statement = "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?)"
        self._db.run(statement, name, source, position.ordinal, cursor)


def _position(rows: list[tuple[Any, ...]]) -> Position:
    for ordinal, cursor in rows:
        return Position(ordinal, None if cursor is None else json.loads(cursor))
    return START
