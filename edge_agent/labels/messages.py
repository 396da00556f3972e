"""What a message on the label topic means.

It is `{"label": "active", "time": 1700000000, "for": 600}` (time and duration may be missing) or
just the text `active`; an empty one says that the activity is not known from here on. A retained
message may be days old: without a time it is ignored.
"""

from __future__ import annotations

import json
import math
from typing import Any

from edge_agent.errors import SourceError
from edge_agent.labels.timeline import (
    AHEAD_SECONDS,
    EXPIRES_SECONDS,
    LASTS_SECONDS,
    LONGEST_LABEL,
    Event,
)
from fsir.errors import shown

LARGEST_BYTES = 4096  # of a message


class NoLabelError(SourceError):
    """A message that is of no use as a label; `kind` is the same for the same mistake.

    It goes into the log, so it does not quote the label: what a person does is nobody's business
    there.
    """

    def __init__(self, kind: str, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.kind = kind


def event_of(payload: bytes, now: float, retained: bool = False) -> Event | None:
    """The event that a message means; None if it may be an old one, an error if it means none.

    >>> event_of(b'{"label": "sitting", "time": 40, "for": 10}', now=100.0)
    Event(time=40.0, label='sitting', until=50.0)
    """
    if len(payload) > LARGEST_BYTES:
        raise NoLabelError(
            "size",
            f"a message of {len(payload)} bytes",
            f"send a label, at most {LARGEST_BYTES} bytes",
        )
    values = _values(payload.decode("utf-8", "replace").strip())
    label = values.get("label")
    given = values.get("time")
    if given is None and retained:
        return None
    if not isinstance(label, str | int | float) or len(str(label).strip()) > LONGEST_LABEL:
        raise NoLabelError("text", "no label", f"send a text of at most {LONGEST_LABEL} characters")
    start = now if given is None else _number(given)
    if not 0 <= start <= now + AHEAD_SECONDS:
        remedy = f"send seconds since the epoch, not milliseconds; now it is {now:.0f}"
        raise NoLabelError("time", f"time {shown(given)}", remedy)
    return Event(start, str(label).strip(), _until(values, start, now, retained))


def _values(text: str) -> dict[str, Any]:
    """The values of a message; a plain text is its label."""
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        parsed = text
    if isinstance(parsed, dict):
        return parsed
    return {"label": parsed if isinstance(parsed, str) else text}


def _until(values: dict[str, Any], start: float, now: float, retained: bool) -> float:
    """When a label expires.

    Like the button's: half an hour after it was given, wherever it began.
    """
    if "for" in values:
        lasts = _number(values["for"])
        if not 0 < lasts <= LASTS_SECONDS:
            remedy = f"send seconds, above 0 and at most {LASTS_SECONDS:.0f} (30 days)"
            raise NoLabelError("for", f"for {shown(values['for'])}", remedy)
        return start + lasts
    # A retained one comes again with every connection: who knows when it was given? It must not
    # live for ever.
    until = (start if retained else max(start, now)) + EXPIRES_SECONDS
    if until - start > LASTS_SECONDS + EXPIRES_SECONDS:
        remedy = 'more than 30 days ago; say how long it lasted with "for"'
        raise NoLabelError("long ago", f"time {shown(values['time'])}", remedy)
    return until


def _number(value: Any) -> float:
    """A number; NaN, which lies in no range, if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
