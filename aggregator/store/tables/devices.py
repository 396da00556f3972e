"""Who takes part and who is missing: every statement about the roster and the states of devices.

The states are told from the tables by their indexes alone, so that fifty thousand devices take a
fraction of a second; no report is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aggregator.store.tables.statements import Statements

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
    "withdrawn": ("SELECT device FROM withdrawn WHERE task = :key", "TRUE"),
    "missing": (_ROSTER, f"NOT {_IN_STAGE} AND NOT {_BARRED}"),
    "excused": ("SELECT device FROM withdrawn WHERE task = :key", _LISTED),
    "unlisted": (_COUNTED, f"NOT {_LISTED} AND NOT {_BARRED}"),
}
STATES = tuple(_STATES)


class Devices(Statements):
    """The part of a store that knows devices by name."""

    # --- the roster -------------------------------------------------------------------------------

    def enrol(self, task: str, devices: Iterable[str], now: float) -> int:
        """Put devices on the roster of a task; how many were not on it yet."""
        added = self._db.executemany(
            "INSERT INTO roster VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(task, device, now) for device in devices],
        )
        return max(0, added.rowcount)

    def strike(self, task: str, devices: Iterable[str]) -> int:
        """Take devices off the roster of a task; how many were on it."""
        gone = self._db.executemany(
            "DELETE FROM roster WHERE task = ? AND device = ?",
            [(task, device) for device in devices],
        )
        return max(0, gone.rowcount)

    def roster_size(self, task: str) -> int:
        """How many devices are on the roster of a task, withdrawn ones included."""
        return int(self._one("SELECT count(*) FROM roster WHERE task = ?", task))

    def on_roster(self, task: str, limit: int, after: str = "") -> list[str]:
        """Names on the roster of a task that come after a name, in order; a limit of -1 is none."""
        rows = self._db.execute(
            "SELECT device FROM roster WHERE task = ? AND device > ? ORDER BY device LIMIT ?",
            (task, after, self._most(limit)),
        )
        return [device for (device,) in rows]

    def listed(self, task: str, devices: Sequence[str]) -> set[str]:
        """Those of the devices that are on the roster of a task."""
        rows = self._db.execute(
            f"SELECT device FROM roster WHERE task = ? AND device {self.AMONG}",
            (task, self._list(devices)),
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
        rows = self._db.execute(query, {**about, "after": after, "limit": self._most(limit)})
        return [device for (device,) in rows]

    def known_devices(self, task: int, name: str) -> list[str]:
        """Every name that was counted, has asked, was withdrawn or is on the roster, once."""
        rows = self._db.execute(
            "SELECT device FROM report WHERE task = :key"
            " UNION SELECT device FROM instances WHERE task = :key"
            " UNION SELECT device FROM withdrawn WHERE task = :key"
            " UNION SELECT device FROM roster WHERE task = :name ORDER BY device",
            {"key": task, "name": name},
        )
        return [device for (device,) in rows]
