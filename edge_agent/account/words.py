"""Numbers and times as people and programs read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from edge_agent.consent.policy import Policy


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
