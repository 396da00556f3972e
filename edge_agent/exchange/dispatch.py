"""What a device sends and when: presence and asks at once, its reports when the gate is open."""

from __future__ import annotations

import random
from collections.abc import Sequence

from edge_agent.exchange.gate import Gate
from edge_agent.exchange.instance import Instance
from edge_agent.exchange.outbox import Outbox, Publish
from edge_agent.state.rows import OutboxRow
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.task.task import Task


class Dispatch:
    """Of one device in one task; `now` is any clock that never goes back."""

    def __init__(self, quiet_seconds: float, delays: Delays, rng: random.Random) -> None:
        self.gate = Gate(quiet_seconds)
        self.outbox = Outbox(delays, rng)
        self.instance: Instance | None = None  # of a task whose devices ask
        self._delays = delays
        self._rng = rng
        self._greeting: Publish | None = None

    def join(self, state: State, task: Task) -> None:
        """The task is known; under one of version 1 nobody asks."""
        if task.tells_copies_apart:
            self.instance = Instance(state, task, self._delays, self._rng)

    def resume(self, rows: Sequence[OutboxRow], at: float, longest: float) -> None:
        """Take over what an earlier run has left; `at` is the time of day."""
        for row in rows:
            # A clock that was set back must not hold a report for longer than the task says.
            self.outbox.add(row, min(max(0.0, row.not_before - at), longest))

    def connect(self, now: float, greeting: Publish | None) -> None:
        """The subscriptions are in force."""
        self.gate.connect(now)
        self.outbox.hurry(now)
        if self.instance is not None:
            self.instance.renew()
        self._greeting = greeting

    def greet(self, greeting: Publish | None) -> None:
        """Say this first."""
        self._greeting = greeting

    @property
    def unprepared(self) -> bool:
        """Whether this connection has no number yet."""
        return self.gate.connected and self.instance is not None and not self.instance.drawn

    def prepare(self) -> None:
        """Draw the number of this connection, if it needs one; the disk must take it."""
        if self.instance is not None and self.gate.connected:
            self.instance.draw()

    def due(self, now: float) -> list[Publish]:
        """What to send now."""
        if not self.gate.connected:
            return []
        messages = [] if self._greeting is None else [self._greeting]
        self._greeting = None
        if self.instance is not None:
            messages += self.instance.due(now)
        opens_at = self._opens_at(now)
        return messages + (self.outbox.due(now) if opens_at is not None and now >= opens_at else [])

    def next_due(self, now: float) -> float | None:
        """When to ask, or when a report may leave; None if neither, or without a connection."""
        if self.gate.connected and self.instance is not None and not self.instance.confirmed:
            return self.instance.next_due(now)
        opens_at = self._opens_at(now)
        due = self.outbox.next_due(now)
        return None if opens_at is None or due is None else max(due, opens_at)

    def _opens_at(self, now: float) -> float | None:
        """From when on reports may leave; None without a connection, or before the answer."""
        opens_at = self.gate.opens_at(now)
        if opens_at is None or self.instance is None:
            return opens_at
        return now if self.instance.confirmed else None
