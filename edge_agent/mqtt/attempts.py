"""When a lost connection is tried again, and what is said about it."""

from __future__ import annotations

import logging
import random

from fsir.net.backoff import Delays
from fsir.net.broker import Broker

STABLE_SECONDS = 30.0  # until a connection has proven itself, and the delays start anew
_rng = random.SystemRandom()


class Attempts:
    """The attempts to reach one broker: `due` is the time of the next one."""

    def __init__(self, broker: Broker, delays: Delays, log: logging.Logger) -> None:
        self._broker = broker
        self._delays = delays
        self._log = log
        self._told: set[str] = set()  # causes that were said since it was up for a while
        self.count = 0
        self.due = 0.0

    def later(self, now: float, why: str) -> None:
        """Try again after a delay, which grows; a cause is a warning once."""
        pause = self._delays.after(self.count, _rng)
        self.count += 1
        self.due = now + pause
        level = logging.INFO if why in self._told else logging.WARNING
        self._told.add(why)
        self._log.log(level, "%s: %s; next attempt in %.0f s", self._broker, why, pause)

    def lasted(self, seconds: float) -> None:
        """A connection was up for so long."""
        if seconds >= STABLE_SECONDS:
            self.count = 0
            self._told.clear()
        elif self.count >= 2:
            words = "%s: lost again after a few seconds; does this device run twice?"
            self._log.warning(words, self._broker)
