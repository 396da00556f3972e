"""The tasks that a device has accepted, and why it has not accepted others."""

from __future__ import annotations

import json

from edge_agent.state.opened import Opened
from edge_agent.state.rows import Pin


class Tasks(Opened):
    """A state file, as far as tasks are concerned."""

    def pin(self, name: str, raw: bytes, source: str) -> Pin:
        """Accept a task, for good."""
        with self._db.transaction():
            self._db.insert("tasks", {"name": name, "raw": raw, "source": source})
            self._db.run("DELETE FROM meta WHERE key = ?", f"note:{name}")
        return Pin(name=name, raw=raw, source=source)

    def pins(self) -> list[Pin]:
        """All tasks that were accepted."""
        query = "SELECT name, raw, source, active, subspace, stopped FROM tasks ORDER BY name"
        rows = self._db.named_rows(query)
        for row in rows:
            row["active"] = None if row["active"] is None else tuple(json.loads(row["active"]))
        return [Pin(**row) for row in rows]

    def pinned(self, name: str) -> Pin | None:
        """The task of this name, if it was accepted."""
        return next((pin for pin in self.pins() if pin.name == name), None)

    def move(self, name: str, source: str) -> None:
        """From now on the task's records come from another source."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET source = ? WHERE name = ?", source, name)

    def stop(self, name: str, reason: str) -> None:
        """Take no further part, and remember why."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET stopped = ? WHERE name = ?", reason, name)

    def note(self, name: str, text: str) -> None:
        """Remember why a task was not accepted, for whoever asks for the status."""
        with self._db.transaction():
            self._db.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", f"note:{name}", text)

    def notes(self) -> dict[str, str]:
        """Why tasks were not accepted, by name."""
        return dict(self._db.rows("SELECT substr(key, 6), value FROM meta WHERE key LIKE 'note:%'"))

    def keep_subspace(self, name: str, raw: bytes) -> None:
        """Remember the latest subspace, so that a device can serve without a broker."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET subspace = ? WHERE name = ?", raw, name)
