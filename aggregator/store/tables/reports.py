"""Counted reports, and who was withdrawn: statements that every engine understands."""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.store.rows import LAST_NUMBER, Place, ReportRow
from aggregator.store.tables.statements import Statements

REPORT = "device, stage, round, id, n, raw, at"


class Reports(Statements):
    """The part of a store that keeps reports."""

    def _ids(self, table: str, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        """Ids in a table of reports, as far as it has these places."""
        raise NotImplementedError

    def lookup(self, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        """Ids of the reports that were counted in these places."""
        return self._ids("report", task, places)

    def receipts_of(self, task: int, device: str) -> dict[Place, bytes]:
        """Ids of everything that was counted of a device, in all its stages and rounds."""
        rows = self._db.execute(
            "SELECT stage, round, id FROM report WHERE task = ? AND device = ?"
            " ORDER BY stage, round",
            (task, device),
        )
        return {(device, stage, round): id for stage, round, id in rows}

    def withdrawn(self, task: int, devices: Sequence[str] | None = None) -> set[str]:
        """Those of the devices (or of all) that were withdrawn."""
        query = "SELECT device FROM withdrawn WHERE task = ?"
        if devices is None:
            rows = self._db.execute(query, (task,))
        elif self._has("withdrawn", task):
            rows = self._db.execute(f"{query} AND device {self.AMONG}", (task, self._list(devices)))
        else:
            return set()
        return {device for (device,) in rows}

    def _has(self, table: str, task: int) -> bool:
        """Whether a table has anything of a task: mostly not, and then no name is looked up."""
        query = f"SELECT 1 FROM {table} WHERE task = ? LIMIT 1"
        return self._db.execute(query, (task,)).fetchone() is not None

    def counted(self, limit: int, before: int = LAST_NUMBER) -> list[tuple[int, int, str]]:
        """Number, task and device of the newest reports with smaller numbers, the newest first.

        Of several rounds of a stage it is the last one.
        """
        rows = self._db.execute(
            "SELECT seq, task, device FROM report r WHERE seq < ? AND NOT EXISTS"
            " (SELECT 1 FROM report q WHERE q.task = r.task AND q.device = r.device"
            " AND q.stage = r.stage AND q.round > r.round) ORDER BY seq DESC LIMIT ?",
            (before, limit),
        )
        return [(seq, task, device) for seq, task, device in rows]

    def first_at(self, task: int, stage: str) -> float | None:
        """When the first report of a stage was counted."""
        (at,) = self._db.execute(
            "SELECT min(at) FROM report WHERE task = ? AND stage = ?", (task, stage)
        ).fetchone()
        return at if at is None else float(at)

    def withdraw(self, task: int, device: str, now: float) -> list[ReportRow]:
        """Forget the bytes of a device, bar it, and return what it had."""
        full = "task = ? AND device = ? AND length(raw) > 0"
        query = f"SELECT {REPORT} FROM report WHERE {full}"
        rows = list(self._rows(ReportRow, query, task, device))
        self._db.execute(f"UPDATE report SET raw = NULL WHERE {full}", (task, device))
        self._db.execute(
            "UPDATE refused SET raw = ?"
            " WHERE device = ? AND task = (SELECT name FROM task WHERE key = ?)",
            (b"", device, task),
        )
        self._db.execute(
            "INSERT INTO withdrawn VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (task, device, now)
        )
        self._decided(task)
        return rows

    def readmit(self, task: int, device: str) -> dict[Place, bytes] | None:
        """Let a withdrawn device in again; the ids of what it had, or None if it was not.

        The bytes are gone, and the next report in such a place counts only if it is the same.
        """
        gone = self._db.execute(
            "DELETE FROM withdrawn WHERE task = ? AND device = ?", (task, device)
        )
        if not gone.rowcount:
            return None
        deleted = "FROM report WHERE task = ? AND device = ? AND raw IS NULL"
        rows = self._db.execute(f"SELECT stage, round, id {deleted}", (task, device)).fetchall()
        self._db.executemany(
            self._put("readmitted", "task, device, stage, round, id", 4),
            # One that had none is remembered, too: it may have been told that it is out.
            [(task, device, *row) for row in rows or [("", 1, b"")]],
        )
        self._db.execute(f"DELETE {deleted}", (task, device))
        self._decided(task)
        return {(device, stage, round): id for stage, round, id in rows}

    def readmitted(self, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        """Ids of deleted reports that alone may come again in these places."""
        return self._ids("readmitted", task, places) if self._has("readmitted", task) else {}

    def let_in_again(self, task: int) -> set[str]:
        """Devices that were withdrawn once, and are not any more."""
        rows = self._db.execute(
            "SELECT device FROM readmitted a WHERE task = ? AND NOT EXISTS (SELECT 1 FROM"
            " withdrawn w WHERE w.task = a.task AND w.device = a.device)",
            (task,),
        )
        return {device for (device,) in rows}

    def decisions(self, task: int) -> int:
        """How often somebody was withdrawn or let in again."""
        query = "SELECT value FROM setting WHERE name = ?"
        row = self._db.execute(query, (_decisions(task),)).fetchone()
        return 0 if row is None else int(row[0])

    def _decided(self, task: int) -> None:
        """Workers look at the tables only when this number has changed."""
        self._db.execute(
            "INSERT INTO setting VALUES (?, '1') ON CONFLICT (name)"
            " DO UPDATE SET value = CAST(CAST(setting.value AS integer) + 1 AS text)",
            (_decisions(task),),
        )


def _decisions(task: int) -> str:
    return f"decisions:{task}"
