"""How far each task, and its recognition, has come in each source."""

from __future__ import annotations

import json

from edge_agent.records import START, Position
from edge_agent.state.tables import Tables

_COLUMNS = ("ordinal", "cursor")


class Positions:
    """The table of positions in the state file."""

    def __init__(self, db: Tables) -> None:
        self._db = db

    def of(self, name: str, source: str) -> Position:
        """How far someone has come in a source."""
        rows = self._db.find("positions", _COLUMNS, task=name, source=source)
        return next((_position(*row) for row in rows), START)

    def last(self, source: str) -> Position:
        """The furthest that anyone has come in a source."""
        return max(self.all(source), key=lambda position: position.ordinal, default=START)

    def all(self, source: str) -> list[Position]:
        """How far everyone has come in a source."""
        return [_position(*row) for row in self._db.find("positions", _COLUMNS, source=source)]

    def put(self, name: str, source: str, position: Position) -> None:
        """Note a position, inside of a transaction."""
        cursor = None if position.cursor is None else json.dumps(position.cursor)
        row = {"task": name, "source": source, "ordinal": position.ordinal, "cursor": cursor}
        self._db.put("positions", row)


def _position(ordinal: int, cursor: str | None) -> Position:
    return Position(ordinal, None if cursor is None else json.loads(cursor))
