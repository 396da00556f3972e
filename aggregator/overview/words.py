"""Times, spans and texts of strangers, as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

_SPANS = ((86400.0, "days", 36 * 3600.0), (3600.0, "h", 5400.0), (60.0, "min", 90.0))


def time_text(seconds: float) -> str:
    """A time, given in seconds since 1970, for people and programs.

    >>> time_text(1.7e9)
    '2023-11-14T22:13:20+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def span_text(seconds: float) -> str:
    """About how long something takes.

    >>> span_text(40), span_text(3000), span_text(7300), span_text(200_000)
    ('40 s', '50 min', '2 h', '2 days')
    """
    for unit, name, least in _SPANS:
        if seconds >= least:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def rate_text(per_hour: float) -> str:
    """How many come in an hour.

    >>> rate_text(6713.2), rate_text(2.04)
    ('6,713', '2.04')
    """
    return f"{per_hour:,.0f}" if per_hour >= 100.0 else f"{per_hour:.3g}"


def harmless(text: str, most: int) -> str:
    """A text that somebody else has chosen: printable, on one line, not too long.

    >>> harmless("pi-7" + chr(27) + "[2J", 20), harmless("x" * 50, 10)
    ('pi-7?[2J', 'xxxxxxx...')
    """
    shown = "".join(c if c.isprintable() else "?" for c in text[: most + 1])
    return shown if len(shown) <= most else shown[: most - 3] + "..."
