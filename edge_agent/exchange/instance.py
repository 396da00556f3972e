"""Which of several copies of a state directory this one is; the aggregator lets one of them go on.

On each connection a device draws a new random number, notes it on its disk and asks to go on under
it, in place of the number before. Copies draw different ones, and the aggregator exchanges the
number it holds only for an ask that names it: so every copy but one is told a number that it never
drew. Nothing but the ask leaves a device before it is told its own. Where there are two
aggregators both are asked: the helper knows no numbers, and repeats the one of the ask.
"""

from __future__ import annotations

import logging
import os
import random

from edge_agent.exchange.outbox import Publish
from edge_agent.state.state import State
from fsir.limits import INSTANCE_BYTES
from fsir.net.backoff import Delays
from fsir.task.secure import HELPER, LEADER
from fsir.task.task import Task
from fsir.wire.messages import Ask, encode, topic

log = logging.getLogger("fsir.agent")
# An aggregator may hold any of the earlier numbers: one that was restored, or that has missed this
# many connections of a device.
KEPT_NUMBERS = 4096
# How the reason begins for which a copy takes no further part.
ANOTHER_COPY = "another copy of this device's state directory takes part"


class Instance:
    """The numbers of one device in one task; `now` is any clock that never goes back."""

    def __init__(self, state: State, task: Task, delays: Delays, rng: random.Random) -> None:
        self._state = state
        self._task = task
        self._delays = delays
        self._rng = rng
        self._numbers = state.instances(task.name)  # the newest first
        self._previous = b""
        self._displaced = False  # whether the aggregator holds the number of another copy
        self._patient = False  # whether it was said that nothing leaves before the answer
        self.renew()

    def renew(self) -> None:
        """There is a new connection, and soon a new number."""
        self.drawn = False
        self._attempts = 0
        self._due = float("-inf")
        self._held = False  # our newest number, by the aggregator that keeps them
        self._helped = self._task.secure is None  # whether the helper has answered, if there is one

    @property
    def confirmed(self) -> bool:
        """Whether everybody has answered the ask of this connection, and this copy goes on."""
        return self._held and self._helped and not self._displaced

    def hear_helper(self, number: bytes) -> None:
        """The helper has said what it knows of this device, asked under this number."""
        self._helped = self._helped or (self.drawn and number == self._numbers[0])

    def draw(self) -> None:
        """The number of this connection: on the disk before anybody else can know it."""
        if self.drawn:
            return
        earlier = self._numbers
        numbers = [os.urandom(INSTANCE_BYTES), *earlier][: KEPT_NUMBERS + 1]
        self._state.keep_instances(self._task.name, numbers)
        self._numbers = numbers
        self._previous = earlier[0] if earlier else b""
        self.drawn = True

    def hear(self, number: bytes) -> bool:
        """Take the number that the aggregator holds; False if this directory never drew it.

        One of our earlier ones is an old answer, or the aggregator was restored, or has missed an
        ask: the next one starts from it. What comes before our first ask on this connection was
        kept by the broker, and is older than we are.
        """
        if not number:
            return not self._displaced
        # For good: an ask that named the number of another copy would take it away.
        self._displaced = self._displaced or number not in self._numbers
        newest = self.drawn and number == self._numbers[0]
        self._held = newest
        if self._attempts and not newest and not self._displaced:
            self._previous = number
        return not self._displaced

    def due(self, now: float) -> list[Publish]:
        """The ask, if it is time for it."""
        due = self.next_due(now)
        if due is None or now < due:
            return []
        if self._attempts and not self._patient:
            self._patient = True
            words = "%s: no answer of %s yet; reports leave only after it"
            log.warning(words, self._task.name, self._awaited())
        self._due = now + self._delays.after(self._attempts, self._rng)
        self._attempts += 1
        device = self._state.device
        ask = Ask(self._task.digest, device, self._numbers[0], self._previous)
        return [Publish(topic(self._task.name, "ask", device), encode(ask))]

    def _awaited(self) -> str:
        """Who has not answered yet."""
        if self._task.secure is None:
            return "the aggregator"
        roles = [(LEADER, self._held), (HELPER, self._helped)]
        return " and ".join(f"the {role}" for role, answered in roles if not answered)

    def next_due(self, now: float) -> float | None:
        """When to ask, or to ask again; None after the answer, or before there is a number."""
        waits = self.drawn and not self.confirmed and not self._displaced
        return max(now, self._due) if waits else None
