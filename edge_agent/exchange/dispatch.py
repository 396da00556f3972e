"""What a device sends and when: its presence at once, its reports when the gate is open."""

from __future__ import annotations

import random

from edge_agent.exchange.gate import Gate
from edge_agent.exchange.outbox import Outbox, Publish
from fsir.net.backoff import Delays


class Dispatch:
    """Of one device in one task; `now` is any clock that never goes back."""

    def __init__(self, quiet_seconds: float, delays: Delays, rng: random.Random) -> None:
        self.gate = Gate(quiet_seconds)
        self.outbox = Outbox(delays, rng)
        self._greeting: Publish | None = None

    def connect(self, now: float, greeting: Publish | None) -> None:
        """The subscriptions are in force."""
        self.gate.connect(now)
        self.outbox.hurry(now)
        self._greeting = greeting

    def greet(self, greeting: Publish | None) -> None:
        """Say this first."""
        self._greeting = greeting

    def due(self, now: float, opens_at: float) -> list[Publish]:
        """What to send now, if reports may leave from `opens_at` on."""
        greeting = [] if self._greeting is None else [self._greeting]
        self._greeting = None
        return greeting + (self.outbox.due(now) if now >= opens_at else [])

    def next_due(self, now: float) -> float | None:
        """When a report may leave; None if there is none, or no connection."""
        opens_at = self.gate.opens_at(now)
        due = self.outbox.next_due(now)
        return None if opens_at is None or due is None else max(due, opens_at)
