"""Tasks, numbers of devices, what is on the wire, settings: short tables of every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aggregator.store.rows import PublishedRow, TaskRow
from aggregator.store.tables.statements import Statements


class Records(Statements):
    """The part of a store that keeps them."""

    # --- tasks ----------------------------------------------------------------------------------

    def add_task(self, digest: bytes, name: str, epoch: int, body: bytes, now: float) -> int:
        """The key of a task, which is added if it is new."""
        query = "SELECT key FROM task WHERE digest = ?"
        if self._db.execute(query, (digest,)).fetchone() is None:
            self._db.execute(
                "INSERT INTO task (digest, name, epoch, body, added) VALUES (?, ?, ?, ?, ?)",
                (digest, name, epoch, body, now),
            )
        return int(self._one(query, digest))

    def tasks(self) -> list[TaskRow]:
        """All tasks, oldest first."""
        query = "SELECT key, digest, name, epoch, body, added FROM task ORDER BY key"
        return list(self._rows(TaskRow, query))

    # --- numbers of devices -----------------------------------------------------------------------

    def instances(self, task: int, devices: Sequence[str]) -> dict[str, bytes]:
        """The numbers that hold for those of the devices that have asked."""
        rows = self._db.execute(
            f"SELECT device, number FROM instances WHERE task = ? AND device {self.AMONG}",
            (task, self._list(devices)),
        )
        return dict(rows.fetchall())

    def hold_instances(self, task: int, devices: Sequence[str]) -> dict[str, bytes]:
        """The same inside a transaction, to the end of which nobody else changes them."""
        return self.instances(task, devices)

    def put_instances(self, task: int, numbers: Mapping[str, bytes]) -> None:
        """Replace the numbers of these devices."""
        self._db.executemany(
            self._put("instances", "task, device, number", 2),
            [(task, device, number) for device, number in numbers.items()],
        )

    # --- what is on the wire --------------------------------------------------------------------

    def published(self, task: int, kind: str) -> PublishedRow | None:
        """The newest message of a kind."""
        query = "SELECT body, version, change, at FROM published WHERE task = ? AND kind = ?"
        return next(self._rows(PublishedRow, query, task, kind), None)

    def put_published(self, task: int, kind: str, row: PublishedRow) -> None:
        """Replace the message of a kind."""
        self._db.execute(
            self._put("published", "task, kind, body, version, change, at", 2),
            (task, kind, row.body, row.version, row.change, row.at),
        )

    # --- settings -------------------------------------------------------------------------------

    def setting(self, name: str) -> str | None:
        """What was last put under a name."""
        row = self._db.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def put_setting(self, name: str, value: str | None) -> None:
        """Keep a value under a name; None forgets it."""
        self._db.execute("DELETE FROM setting WHERE name = ?", (name,))
        if value is not None:
            self._db.execute("INSERT INTO setting VALUES (?, ?)", (name, value))
