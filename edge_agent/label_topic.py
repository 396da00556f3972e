"""`--labels topic:TOPIC`: labels as messages, from a home automation, a watch or a button on the wall.

A message is `{"label": "walking", "time": 1700000000, "for": 600}` (time and duration may be missing) or just the text
`walking`; an empty one says that the activity is not known from here on. A retained message may be days old: without a
time it is ignored. What arrives is kept in the label file, where it survives a crash like any other label.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paho.mqtt.client import MQTTMessage

from edge_agent import label_file
from edge_agent.connection import Broker, Connection
from edge_agent.errors import StorageError
from edge_agent.labels import EXPIRES, LONGEST, Event

log = logging.getLogger("fsir.labels")
LARGEST = 4096  # bytes of a message


def event_of(payload: bytes, now: float, retained: bool = False) -> Event | None:
    """The event that a message means; None if it means none."""
    if len(payload) > LARGEST:
        return None
    text = payload.decode("utf-8", "replace").strip()
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = text
    values = found if isinstance(found, dict) else {"label": text if not isinstance(found, str) else found}
    label, moment, duration = values.get("label"), values.get("time"), values.get("for", EXPIRES)
    if not isinstance(label, str | int | float) or (moment is None and retained):
        return None
    try:
        start, lasts = now if moment is None else float(moment), float(duration)
    except (TypeError, ValueError, OverflowError):
        return None
    label = str(label).strip()
    if not (math.isfinite(start) and math.isfinite(lasts) and lasts > 0 and len(label) <= LONGEST):
        return None
    return Event(start, label, start + lasts)


class LabelTopic:
    """Keeps a connection to the broker of the sensors, and appends every label that comes."""

    def __init__(self, broker: Broker, topic: str, directory: Path, clock: Callable[[], float] = time.time) -> None:
        self._topic, self._directory, self._clock = topic, directory, clock
        self._last: Event | None = None
        self.connection = Connection(broker, f"fsir-labels-{os.urandom(6).hex()}", [topic], self._take, qos=0)

    def _take(self, message: MQTTMessage) -> None:
        event = event_of(bytes(message.payload), self._clock(), message.retain)
        if event is None:
            if not message.retain:
                log.warning("%s: not a label: %d bytes", self._topic, len(message.payload))
            return
        if event == self._last:
            return  # a retained label comes with every connection
        try:
            label_file.append(self._directory, event)
            self._last = event
        except StorageError as error:
            log.error("%s", error)
