"""What was refused: the newest messages, and how many there were for each reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from aggregator.store.rows import RefusedRow
from aggregator.store.tables.statements import Statements

# The newest are kept, the counters know all: garbage must not fill the disk.
QUARANTINE_ROWS = 10_000
QUARANTINE_BYTES = 4096  # of each


class Quarantine(Statements):
    """The part of a store that keeps refusals."""

    def refuse(self, rows: Sequence[RefusedRow]) -> None:
        """Put messages into quarantine and count them; the oldest leave when there are too many."""
        self._db.executemany(
            "INSERT INTO refused (task, device, stage, id, reason, detail, length, raw, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_values(row) for row in rows],
        )
        self._db.execute(
            "DELETE FROM refused WHERE seq <= (SELECT max(seq) FROM refused) - ?",
            (QUARANTINE_ROWS,),
        )
        counts = Counter((row.task, row.reason) for row in rows)
        self._db.executemany(
            "INSERT INTO refused_count VALUES (?, ?, ?) ON CONFLICT (task, reason)"
            " DO UPDATE SET count = refused_count.count + excluded.count",
            [(*named, count) for named, count in sorted(counts.items())],
        )

    def refused(self, limit: int, task: str | None = None) -> list[RefusedRow]:
        """The newest refused messages of a task, or of all, newest first."""
        asked = "" if task is None else " WHERE task = ?"
        query = (
            "SELECT task, device, stage, id, reason, detail, length, raw, at FROM refused"
            f"{asked} ORDER BY seq DESC LIMIT ?"
        )
        values = (limit,) if task is None else (task, limit)
        return list(self._rows(RefusedRow, query, *values))

    def refused_counts(self) -> dict[tuple[str, str], int]:
        """How many were refused in all, by task and reason."""
        rows = self._db.execute("SELECT task, reason, count FROM refused_count")
        return {(task, reason): count for task, reason, count in rows}


def _values(row: RefusedRow) -> tuple[object, ...]:
    about = (row.task, row.device, row.stage, row.id, row.reason, row.detail)
    return (*about, row.length, row.raw[:QUARANTINE_BYTES], row.at)
