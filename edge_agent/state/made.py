"""Which reports of a task a device has made, by what its ledger says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from edge_agent.state.rows import LedgerRow
from fsir.privacy.plan import FINAL

Made = Mapping[str, LedgerRow]  # of each stage the report that was made last


def last_reports(rows: Iterable[LedgerRow], digest: bytes) -> dict[str, LedgerRow]:
    """The last report of each stage of a task."""
    return {row.stage: row for row in rows if row.digest == digest and row.is_report}


def last_round(made: Made) -> int:
    """The number of the last round that was made; 0 before the first one."""
    return made[FINAL].round if FINAL in made else 0
