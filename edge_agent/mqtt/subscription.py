"""Topics of one's own, listened to: a sensor, a phone or a button publishes, the agent reads.

At QoS 0 in a clean session, under a name that nobody else has: so a broker delivers each message
at most once, and none of the time before.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from paho.mqtt.client import MQTTMessage

from edge_agent.mqtt.connection import Connection
from fsir.net.broker import Broker


class Subscription:
    """Hands each message of some topics to `take`.

    kind: what the broker's log calls the listener.
    repeats: also hand over what is retained (the last message, once more) or marked as a duplicate.
    """

    def __init__(
        self,
        broker: Broker,
        kind: str,
        topics: str | list[str],
        take: Callable[[MQTTMessage], object],
        *,
        repeats: bool = False,
    ) -> None:
        self._take = take
        self._repeats = repeats
        self._arrived = 0
        client_id = f"fsir-{kind}-{os.urandom(6).hex()}"
        wanted = [topics] if isinstance(topics, str) else topics
        self._connection = Connection(broker, client_id, wanted, self.receive, qos=0)

    def receive(self, message: MQTTMessage) -> None:
        """A message has arrived."""
        self._arrived += 1
        if self._repeats or not (message.retain or message.dup):
            self._take(message)

    @property
    def up(self) -> bool:
        """Whether it listens now."""
        return self._connection.up

    def step(self, now: float) -> None:
        """Keep the connection up, and handle one message if there is one."""
        self._connection.step(now)

    def poll(self, limit: int) -> None:
        """Handle up to `limit` messages that have arrived; a step handles one."""
        for _ in range(limit):
            before = self._arrived
            self.step(time.monotonic())
            if self._arrived == before:
                break

    def fileno(self) -> int | None:
        """What to wait on, while connected."""
        return self._connection.fileno()

    def next_due(self, now: float) -> float:
        """When to step again if nothing arrives."""
        return self._connection.next_due(now)

    def delay(self) -> float:
        """Seconds until the connection needs attention."""
        now = time.monotonic()
        return max(0.0, self.next_due(now) - now)

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
