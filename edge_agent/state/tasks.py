"""The tasks that a device has accepted, and why it has not accepted others."""

from __future__ import annotations

import json

from edge_agent.state.opened import Opened
from edge_agent.state.rows import Pin

_NOTE = "note:"  # of a task: no task has a name with a colon
_COLUMNS = ("name", "raw", "source", "active", "subspace", "stopped")


class Tasks(Opened):
    """A state file, as far as tasks are concerned."""

    def pin(self, name: str, raw: bytes, source: str) -> Pin:
        """Accept a task, for good."""
        with self._db.transaction():
            self._db.insert("tasks", {"name": name, "raw": raw, "source": source})
            self._db.remove("meta", key=f"{_NOTE}{name}")
        return Pin(name=name, raw=raw, source=source)

    def pins(self) -> list[Pin]:
        """All tasks that were accepted."""
        return sorted(self._pins(), key=lambda pin: pin.name)

    def _pins(self, **wanted: str) -> list[Pin]:
        return [_pin(*row) for row in self._db.find("tasks", _COLUMNS, **wanted)]

    def pinned(self, name: str) -> Pin | None:
        """The task of this name, if it was accepted."""
        return next(iter(self._pins(name=name)), None)

    def move(self, name: str, source: str) -> None:
        """From now on the task's records come from another source."""
        with self._db.transaction():
            self._db.change("tasks", {"source": source}, name=name)

    def stop(self, name: str, reason: str) -> None:
        """Take no further part, and remember why."""
        with self._db.transaction():
            self._db.change("tasks", {"stopped": reason}, name=name)

    def note(self, name: str, text: str) -> None:
        """Remember why a task was not accepted, for whoever asks for the status."""
        with self._db.transaction():
            self._db.put("meta", {"key": f"{_NOTE}{name}", "value": text})

    def notes(self) -> dict[str, str]:
        """Why tasks were not accepted, by name."""
        rows = self._db.find("meta", ("key", "value"))
        return {key.removeprefix(_NOTE): text for key, text in rows if key.startswith(_NOTE)}

    def keep_subspace(self, name: str, raw: bytes) -> None:
        """Remember the latest subspace, so that a device can serve without a broker."""
        with self._db.transaction():
            self._db.change("tasks", {"subspace": raw}, name=name)


def _pin(
    name: str, raw: bytes, source: str, active: str | None, subspace: bytes | None, stopped: str
) -> Pin:
    return Pin(
        name=name,
        raw=raw,
        source=source,
        active=None if active is None else tuple(json.loads(active)),
        subspace=subspace,
        stopped=stopped,
    )
