"""Who takes part and who is missing: every statement about the roster and the states of devices.

The states are told from the tables by their indexes alone, so that fifty thousand devices take a
fraction of a second; no report is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from aggregator.store.database import Database

_REPORTED = "EXISTS (SELECT 1 FROM report r WHERE r.task = :key AND r.device = d.device"
_IN_STAGE = f"{_REPORTED} AND r.stage = :stage)"
_EVER = f"{_REPORTED})"
_ASKED = "EXISTS (SELECT 1 FROM instances i WHERE i.task = :key AND i.device = d.device)"
_BARRED = "EXISTS (SELECT 1 FROM withdrawn w WHERE w.task = :key AND w.device = d.device)"
_LISTED = "EXISTS (SELECT 1 FROM roster o WHERE o.task = :name AND o.device = d.device)"
_ROSTER = "SELECT device FROM roster WHERE task = :name"
_COUNTED = "SELECT DISTINCT device FROM report WHERE task = :key AND stage = :stage"
_SEEN = (
    "SELECT device FROM instances WHERE task = :key"
    " UNION SELECT device FROM report WHERE task = :key AND stage <> :stage"
)
# By state: where its devices are found, and what must hold for each of them.
_STATES = {
    "reported": (_COUNTED, f"NOT {_BARRED}"),
    "waiting": (_SEEN, f"NOT {_IN_STAGE} AND NOT {_BARRED}"),
    "silent": (_ROSTER, f"NOT {_EVER} AND NOT {_ASKED} AND NOT {_BARRED}"),
    "withdrawn": ("SELECT device FROM withdrawn WHERE task = :key", "1"),
    "missing": (_ROSTER, f"NOT {_IN_STAGE} AND NOT {_BARRED}"),
    "excused": ("SELECT device FROM withdrawn WHERE task = :key", _LISTED),
    "unlisted": (_COUNTED, f"NOT {_LISTED} AND NOT {_BARRED}"),
}
STATES = tuple(_STATES)


class Devices(Database):
    """The part of a store that knows devices by name."""

    # --- the roster -------------------------------------------------------------------------------

    def enrol(self, task: str, devices: Iterable[str], now: float) -> int:
        """Put devices on the roster of a task; how many were not on it yet."""
        before = self._db.total_changes
        self._db.executemany(
            "INSERT OR IGNORE INTO roster VALUES (?, ?, ?)",
            ((task, device, now) for device in devices),
        )
        return self._db.total_changes - before

    def strike(self, task: str, devices: Iterable[str]) -> int:
        """Take devices off the roster of a task; how many were on it."""
        before = self._db.total_changes
        self._db.executemany(
            "DELETE FROM roster WHERE task = ? AND device = ?",
            ((task, device) for device in devices),
        )
        return self._db.total_changes - before

    def roster_size(self, task: str) -> int:
        """How many devices are on the roster of a task, withdrawn ones included."""
        (count,) = self._db.execute(
            "SELECT count(*) FROM roster WHERE task = ?", (task,)
        ).fetchone()
        return int(count)

    def on_roster(self, task: str, limit: int, after: str = "") -> list[str]:
        """Names on the roster of a task that come after a name, in order; a limit of -1 is none."""
        rows = self._db.execute(
            "SELECT device FROM roster WHERE task = ? AND device > ? ORDER BY device LIMIT ?",
            (task, after, limit),
        )
        return [device for (device,) in rows]

    def listed(self, task: str, devices: Sequence[str]) -> set[str]:
        """Those of the devices that are on the roster of a task."""
        rows = self._db.execute(
            "SELECT device FROM roster"
            " WHERE task = ? AND device IN (SELECT value FROM json_each(?))",
            (task, json.dumps(devices)),
        )
        return {device for (device,) in rows}

    # --- states -----------------------------------------------------------------------------------

    def count_devices(self, about: Mapping[str, object], state: str) -> int:
        """How many devices are in a state; `about` has the `key`, `name` and `stage` of a task."""
        where, holds = _STATES[state]
        query = f"SELECT count(*) FROM ({where}) d WHERE {holds}"
        (count,) = self._db.execute(query, dict(about)).fetchone()
        return int(count)

    def list_devices(
        self, about: Mapping[str, object], state: str, limit: int, after: str = ""
    ) -> list[str]:
        """Devices in a state whose names come after a name, in order; a limit of -1 is none."""
        where, holds = _STATES[state]
        query = (
            f"SELECT device FROM ({where}) d WHERE device > :after AND {holds}"
            " ORDER BY device LIMIT :limit"
        )
        rows = self._db.execute(query, {**about, "after": after, "limit": limit})
        return [device for (device,) in rows]

    def known_devices(self, task: int, name: str) -> list[str]:
        """Every name that was counted, has asked, was withdrawn or is on the roster, once."""
        rows = self._db.execute(
            "SELECT device FROM report WHERE task = :key"
            " UNION SELECT device FROM instances WHERE task = :key"
            " UNION SELECT device FROM withdrawn WHERE task = :key"
            " UNION SELECT device FROM roster WHERE task = :name",
            {"key": task, "name": name},
        )
        return [device for (device,) in rows]
