"""Letting a source be read again from its beginning, as long as nothing of it was reported.

Records reach a report through what a task has learned, and each report has its row in the ledger.
Here the ledger has none about the source, all that was learned from it goes, and with it every
position in it, in one transaction. So whatever is read again is in no report, and in nothing that
could become one: it counts as if it were read for the first time. That a report was held back stays
booked, about the same numbers of records: whatever is released about these later adds up with it.
"""

from __future__ import annotations

from typing import NamedTuple

from edge_agent.errors import StateError
from edge_agent.state.database import Storage
from edge_agent.state.holds import HELD
from edge_agent.state.rows import HOLD

RECOGNITION = "recognition:"  # of a task: no task has a name with a colon
FRAME = "recognition:frame:"  # of a task: in which coordinates that is


class Rewound(NamedTuple):
    """What has gone: of these tasks what they had learned, and what was recognised for these."""

    learned: list[str]
    recognised: list[str]
    positions: int


def sources_of(db: Storage) -> list[str]:
    """Every source that the state knows, read or reported or not."""
    parts = (f"SELECT source FROM {table}" for table in ("positions", "tasks", "ledger"))
    return [source for (source,) in db.rows(f"{' UNION '.join(parts)} ORDER BY source")]


def rewind(db: Storage, source: str) -> Rewound:
    """Forget that a source was read; StateError if something of it was reported."""
    with db.transaction():
        _check(db, source)
        readers = _names(db, "SELECT task FROM positions WHERE source = ?", source)
        recognised = [
            name.removeprefix(RECOGNITION) for name in readers if name.startswith(RECOGNITION)
        ]
        learned = _names(db, "SELECT name FROM tasks WHERE source = ? AND first NOT NULL", source)
        # What a task has learned is of the source that it has now: see `check_source`.
        query = "SELECT name FROM tasks WHERE source = ?"
        for name in _names(db, query, source):
            statement = "UPDATE tasks SET first = NULL, last = NULL, learned = NULL WHERE name = ?"
            db.run(statement, name)
            db.run("DELETE FROM kept WHERE task = ?", name)
            db.run("DELETE FROM meta WHERE key = ?", f"{HELD}{name}")
        for name in recognised:
            for kind in (RECOGNITION, FRAME):
                db.run("DELETE FROM meta WHERE key = ?", f"{kind}{name}")
        db.run("DELETE FROM positions WHERE source = ?", source)
    return Rewound(learned, recognised, len(readers))


def _names(db: Storage, query: str, source: str) -> list[str]:
    return [name for (name,) in db.rows(f"{query} ORDER BY 1", source)]


def _check(db: Storage, source: str) -> None:
    query = (
        "SELECT task, stage, first, last FROM ledger WHERE source = ? AND stage != ? ORDER BY rowid"
    )
    for task, stage, first, last in db.rows(query, source, HOLD):
        raise StateError(
            f"{source} cannot be read again: its records {first} to {last} are in the {stage} "
            f"report of task {task!r}, and would count twice. Put new records behind them, or "
            "into a file with another name"
        )
