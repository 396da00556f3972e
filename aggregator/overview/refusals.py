"""What was refused of late, in words; the text of a stranger is made harmless first."""

from __future__ import annotations

from typing import Any

from aggregator.overview.words import harmless, time_text
from aggregator.reasons import REASONS
from aggregator.store.base import Store
from aggregator.store.rows import RefusedRow

NEWEST = 10
_NAME_CHARACTERS = 64
_TEXT_CHARACTERS = 160


def counts(store: Store, task: str) -> dict[str, int]:
    """How many messages of a task were refused, by reason."""
    found = store.refused_counts().items()
    return {reason: count for (name, reason), count in found if name == task}


def newest(store: Store, task: str) -> list[dict[str, Any]]:
    """The last refusals of a task, the newest first."""
    return [_entry(row) for row in store.refused(NEWEST, task)]


def _entry(row: RefusedRow) -> dict[str, Any]:
    return {
        "at": time_text(row.at),
        "device": harmless(row.device, _NAME_CHARACTERS),
        "stage": row.stage,
        "reason": row.reason,
        "text": harmless(row.detail, _TEXT_CHARACTERS),
        "meaning": REASONS.get(row.reason, ""),
    }
