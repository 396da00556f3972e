"""A look at a topic for a while, for a command that then ends."""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Generator

from paho.mqtt.client import MQTTMessage

from edge_agent.mqtt.subscription import Subscription
from fsir.net.broker import Broker


class Look:
    """Listens to a topic, also to what is retained there, and says nothing."""

    def __init__(self, broker: Broker, kind: str, topic: str) -> None:
        self._arrived: deque[MQTTMessage] = deque()
        self._subscription = Subscription(broker, kind, topic, self._arrived.append, repeats=True)
        self.reached = False  # whether the broker has let us listen, at some time

    def messages(self, seconds: float) -> Generator[MQTTMessage, None, None]:
        """Each message as it comes, until the time is up or nobody wants more."""
        end = time.monotonic() + seconds
        try:
            while (now := time.monotonic()) < end:
                self._subscription.step(now)
                self.reached = self.reached or self._subscription.up
                while self._arrived:
                    yield self._arrived.popleft()
                self._wait(end - now)
        finally:
            self._subscription.close()

    def _wait(self, longest: float) -> None:
        descriptor = self._subscription.fileno()
        readers = [] if descriptor is None else [descriptor]
        select.select(readers, [], [], max(0.0, min(self._subscription.delay(), longest)))
