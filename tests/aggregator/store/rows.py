"""Rows of a store."""

from __future__ import annotations

from aggregator.store.rows import RefusedRow, ReportRow


def row(device: str, stage: str = "final", at: float = 2.0) -> ReportRow:
    """A counted report."""
    return ReportRow(device=device, stage=stage, id=b"i" * 16, n=100, raw=b"raw", at=at)


def refusal(number: int) -> RefusedRow:
    """A refused message."""
    return RefusedRow(
        task="test",
        device=f"d{number}",
        stage="final",
        id=b"i",
        reason="malformed",
        detail="detail",
        length=5,
        raw=b"x" * 5,
        at=1.0,
    )
