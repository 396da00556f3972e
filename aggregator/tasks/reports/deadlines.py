"""Until when devices may report: read from a text, and refused once it has passed."""

from __future__ import annotations

from datetime import UTC, datetime

from fsir.errors import FsirError


def instant(text: str) -> datetime:
    """A date with its time and zone.

    >>> instant("2026-12-01T00:00:00Z").isoformat()
    '2026-12-01T00:00:00+00:00'
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise FsirError(
            f"--deadline {text}: give date, time and zone, for example 2026-12-01T00:00:00Z"
        )
    return found.astimezone(UTC)


def refuse_past(what: str, deadline: int | None, now: float) -> None:
    """Refuse a deadline that has passed, of a task that nobody serves yet."""
    if deadline is not None and deadline <= now:
        raise FsirError(
            f"{what} {datetime.fromtimestamp(deadline, UTC).isoformat()}: has passed: devices "
            "would report at once whatever they have; give a later one"
        )
