"""The connection to the owner's broker, on which the device tells its home what it knows.

    TOPIC/state           all that is known, as JSON, when it changes and at most once a second
    TOPIC/availability    online, or offline: the last will
    TOPIC/label/set       labels, as with `--labels topic:`

and the message by which Home Assistant finds the device. All but labels are retained, so that who
comes later knows.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from typing import Any

from paho.mqtt.client import MQTTMessage

from edge_agent.errors import StorageError
from edge_agent.mqtt.connection import Connection
from edge_agent.output.base import Output
from edge_agent.output.home.discovery import (
    AVAILABLE,
    BIRTH,
    BORN,
    GONE,
    Topics,
    discovery,
    identity,
)
from edge_agent.output.home.told import Told
from fsir.errors import LoginRefusedError
from fsir.net.broker import Broker

log = logging.getLogger("fsir.output")
PAUSE_SECONDS = 1.0  # between two states
AFTER_TROUBLE_SECONDS = 60.0


class HomeBroker(Output):
    """Tells what is known; `label` takes the messages with labels."""

    def __init__(
        self,
        broker: Broker,
        topic: str,
        told: Told,
        label: Callable[[MQTTMessage], None],
        *,
        predicts: bool = False,
    ) -> None:
        self._topic = topic
        self._topics = Topics(topic)
        self._told = told
        self._label = label
        self._predicts = predicts
        self._classes: dict[str, tuple[str, ...]] | None = None  # that were told
        self._state: dict[str, Any] | None = None  # that was told
        self._next_at = -math.inf
        self._waits = False
        self._given_up = False
        self._was_up = False
        self._connection = Connection(
            broker,
            identity(told.device, topic),
            [BIRTH, self._topics.label],
            self._receive,
            on_up=self._up,
            will=lambda: (self._topics.availability, GONE),
            logger=log,
        )

    def write(self, served: dict[str, Any]) -> None:
        """Remember a record; it is told with the next state."""
        self._told.serve(served)

    def _receive(self, message: MQTTMessage) -> None:
        if message.topic == self._topics.label:
            self._label(message)
        elif bytes(message.payload) == BORN and not message.retain:
            self._up()  # Home Assistant has started, and may have forgotten everything

    def _up(self) -> None:
        """Everything anew, whoever listens."""
        self._was_up = True
        self._classes = None
        self._state = None
        self._connection.publish(self._topics.availability, AVAILABLE, retain=True)

    # --- for the loop -----------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Keep the connection up, and tell what is new.

        A login that is refused at once is a mistake in the settings; one that is refused later must
        not stop the agent.
        """
        if self._given_up:
            return
        try:
            self._connection.step(now)
        except LoginRefusedError as error:
            if not self._was_up:
                raise
            log.error("%s; the home is told nothing more until the agent starts again", error)
            self._given_up = True
            return
        self._waits = self._connection.up and now < self._next_at
        if self._connection.up and not self._waits:
            self._try_to_tell(now)

    def _try_to_tell(self, now: float) -> None:
        try:
            self._tell(now)
        except StorageError as error:  # of the state, from which it is told
            log.error("%s", error)
            self._next_at = now + AFTER_TROUBLE_SECONDS

    def _tell(self, now: float) -> None:
        classes = self._told.classes()
        if classes != self._classes:
            about, content = discovery(
                self._told.device, self._topic, classes, predicts=self._predicts
            )
            self._connection.publish(about, json.dumps(content).encode(), retain=True)
            self._classes = classes
        state = self._told.table()
        if state != self._state:
            self._connection.publish(self._topics.state, json.dumps(state).encode(), retain=True)
            self._state = state
            self._next_at = now + PAUSE_SECONDS

    def due(self, now: float) -> float:
        """When the connection needs attention, or a state may be told that had to wait."""
        if self._given_up:
            return math.inf
        return min(self._connection.next_due(now), self._next_at if self._waits else math.inf)

    def readers(self) -> list[int]:
        """The connection."""
        descriptor = None if self._given_up else self._connection.fileno()
        return [] if descriptor is None else [descriptor]

    def writers(self) -> list[int]:
        """The same while something waits to be sent."""
        return self.readers() if self._connection.wants_write() else []

    def close(self) -> None:
        """Tell how it ended, and that nobody is here any more."""
        if self._connection.up:
            self._try_to_tell(math.inf)
            self._connection.publish(self._topics.availability, GONE, retain=True)
        self._connection.close()
