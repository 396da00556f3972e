"""What this device has given away, release by release, and what that cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edge_agent.account.words import json_number
from edge_agent.consent.admission import cost_of
from edge_agent.consent.budget import total_epsilon
from edge_agent.state.rows import LedgerRow


def spent(rows: Sequence[LedgerRow], delta: float) -> float:
    """The epsilon, at `delta`, of all these releases together; infinite if one is unproven."""
    return total_epsilon([cost_of(row) for row in rows], delta)


def release_entry(row: LedgerRow) -> dict[str, Any]:
    """A release in plain values."""
    return {
        **row._asdict(),
        "digest": row.digest.hex(),
        "report": row.report.hex(),
        "mu": json_number(row.mu),
    }
