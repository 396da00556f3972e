"""How the estimate has grown, and what it would be with twice as many devices."""

from __future__ import annotations

from typing import Any

from aggregator.overview.words import time_text
from aggregator.store.rows import PublishedRow, VersionRow
from fsir.wire.messages import Subspace

MOST_VERSIONS = 200  # in a history
TIMES = 2  # as many devices, in a forecast


def history(
    rows: list[VersionRow], shown: PublishedRow | None, subspace: Subspace | None
) -> list[dict[str, Any]]:
    """The versions, oldest first; of a store of version 0.1 at least the one that is published."""
    if subspace is not None and shown is not None and not rows:
        rows = [
            VersionRow(
                version=subspace.version,
                at=shown.at,
                devices=subspace.devices,
                records=subspace.records,
                dimension=subspace.dimension,
                expected_error=subspace.expected_error,
                expected_accuracy=subspace.expected_accuracy,
            )
        ]
    return [
        {
            "version": row.version,
            "at": time_text(row.at),
            "devices": row.devices,
            "records": row.records,
            "dimension": row.dimension,
            "expected_error": row.expected_error,
            "expected_accuracy": row.expected_accuracy,
            "angle_degrees": row.angle,
            **_of_rounds(row),
        }
        for row in rows
    ]


def _of_rounds(row: VersionRow) -> dict[str, Any]:
    if row.round is None:
        return {}
    return {"round": row.round, "moved": row.moved, "drift_since": row.drift}


def forecast(rows: list[VersionRow], subspace: Subspace | None) -> dict[str, Any] | None:
    """What twice as many devices would give, if the newest version has said so."""
    newest = rows[-1] if rows else None
    if (
        newest is None
        or subspace is None
        or newest.version != subspace.version
        or newest.forecast_error is None
    ):
        return None
    return {
        "devices": TIMES * newest.devices,
        "expected_error": newest.forecast_error,
        "expected_accuracy": newest.forecast_accuracy,
    }
