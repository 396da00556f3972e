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
from edge_agent.state.holds import HELD
from edge_agent.state.rows import HOLD
from edge_agent.state.tables import Tables

RECOGNITION = "recognition:"  # of a task: no task has a name with a colon
FRAME = "recognition:frame:"  # of a task: in which coordinates that is


class Rewound(NamedTuple):
    """What has gone: of these tasks what they had learned, and what was recognised for these."""

    learned: list[str]
    recognised: list[str]
    positions: int


def sources_of(db: Tables) -> list[str]:
    """Every source that the state knows, read or reported or not."""
    tables = ("positions", "tasks", "ledger")
    return sorted({source for table in tables for (source,) in db.find(table, ("source",))})


def rewind(db: Tables, source: str) -> Rewound:
    """Forget that a source was read; StateError if something of it was reported."""
    with db.transaction():
        _check(db, source)
        readers = sorted(task for (task,) in db.find("positions", ("task",), source=source))
        recognised = [
            name.removeprefix(RECOGNITION) for name in readers if name.startswith(RECOGNITION)
        ]
        # What a task has learned is of the source that it has now: see `check_source`.
        tasks = sorted(db.find("tasks", ("name", "first"), source=source))
        learned = [name for name, first in tasks if first is not None]
        for name, _ in tasks:
            db.change("tasks", {"first": None, "last": None, "learned": None}, name=name)
            db.remove("kept", task=name)
            db.remove("meta", key=f"{HELD}{name}")
        for name in recognised:
            for kind in (RECOGNITION, FRAME):
                db.remove("meta", key=f"{kind}{name}")
        db.remove("positions", source=source)
    return Rewound(learned, recognised, len(readers))


def _check(db: Tables, source: str) -> None:
    columns = ("task", "stage", "first", "last")
    for task, stage, first, last in db.find("ledger", columns, source=source):
        if stage == HOLD:
            continue
        raise StateError(
            f"{source} cannot be read again: its records {first} to {last} are in the {stage} "
            f"report of task {task!r}, and would count twice. Put new records behind them, or "
            "into a file with another name"
        )
