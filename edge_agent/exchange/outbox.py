"""When to send what has no receipt yet: the same bytes, at growing jittered intervals."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

from edge_agent.state.rows import OutboxRow
from fsir.net.backoff import Delays


class Publish(NamedTuple):
    """One message to the task's broker, at QoS 1."""

    topic: str
    payload: bytes
    retain: bool = False

    @property
    def is_report(self) -> bool:
        """Whether it is one, and not a greeting or an ask.

        >>> Publish("fsir/1/activity/report/pi-7", b"...").is_report
        True
        """
        return self.topic.split("/")[3] == "report"


@dataclass
class _Waiting:
    row: OutboxRow
    hold: float  # seconds that the report is still held back
    due: float | None = None
    attempts: int = 0


class Outbox:
    """The schedule of the reports in the state file; `now` is any clock that never goes back."""

    def __init__(self, delays: Delays, rng: random.Random) -> None:
        self._delays = delays
        self._rng = rng
        self._waiting: dict[bytes, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, row: OutboxRow, hold: float) -> None:
        """Schedule a report that is in the state file."""
        self._waiting.setdefault(row.report, _Waiting(row, hold))

    def __contains__(self, report: bytes) -> bool:
        return report in self._waiting

    def remove(self, report: bytes) -> None:
        """Send it no more."""
        self._waiting.pop(report, None)

    def hurry(self, now: float) -> None:
        """The connection is back: do not sit out a long delay, but do not come all at once."""
        for waiting in self._waiting.values():
            if waiting.attempts:
                waiting.attempts = 1
                waiting.due = now + self._delays.after(0, self._rng)

    def due(self, now: float) -> list[Publish]:
        """What to send now."""
        messages = []
        for waiting in self._waiting.values():
            if waiting.due is None:
                waiting.due = now + waiting.hold
            if now >= waiting.due:
                messages.append(Publish(waiting.row.topic, waiting.row.payload))
                waiting.due = now + self._delays.after(waiting.attempts, self._rng)
                waiting.attempts += 1
        return messages

    def next_due(self, now: float) -> float | None:
        """When to ask again."""
        waiting = self._waiting.values()
        return min((now if one.due is None else one.due for one in waiting), default=None)
