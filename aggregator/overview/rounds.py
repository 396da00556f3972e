"""How far the rounds of a task are, and what they tell; there is nothing to say of a single one."""

from __future__ import annotations

from typing import Any

from aggregator.federation import Federation
from aggregator.store.base import Store
from aggregator.store.rows import VersionRow
from fsir.privacy.plan import FINAL

NEWEST = 200  # rounds in an overview


def rounds(
    store: Store, federation: Federation, versions: list[VersionRow], now: float
) -> dict[str, Any]:
    """The `rounds` of an overview, or nothing."""
    if not federation.follows(FINAL):
        return {}
    rows = [row for row in store.rounds(federation.key, FINAL) if row.devices]
    newest = versions[-1] if versions else None
    found = {
        "of": federation.task.rounds,
        "current": current(federation, rows[-1].round if rows else 0, now),
        "counted": [
            {"round": row.round, "devices": row.devices, "records": row.records}
            for row in rows[-NEWEST:]
        ],
        "moved": newest.moved if newest else None,
        "drift_since": newest.drift if newest else None,
    }
    return {"rounds": found}


def current(federation: Federation, newest: int, now: float) -> int:
    """The round that devices report in: by the clock, or else the newest that was counted."""
    report = federation.task.report
    if report.start is None or report.every is None:
        return newest
    return min(max(0, 1 + int((now - report.start) // report.every)), federation.task.rounds)
