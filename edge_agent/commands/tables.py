"""How numbers and tables are shown: to people in columns, to programs in JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from edge_agent.consent.policy import Policy


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their widest entry.

    >>> print_table(["task", "records"], [["activity", "39 of 100"], ["heart", ""]])
    task      records
    activity  39 of 100
    heart
    """
    lines = [heads, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def json_number(value: float) -> float | None:
    """A number for JSON, which has no infinity."""
    return value if math.isfinite(value) else None


def minute(seconds: float) -> str:
    """A time, to the minute, UTC.

    >>> minute(0.0)
    '1970-01-01 00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def cap_of(policy: Policy, named: bool) -> str:
    """The cap, and whether the owner has `named` the policy that has it.

    The state does not hold it, and the agent may run under another one than whoever asks has named.
    """
    if not named:
        return f"the default cap is {policy.epsilon:g} (--policy FILE for your own)"
    return f"the owner's cap is {policy.epsilon:g}"
