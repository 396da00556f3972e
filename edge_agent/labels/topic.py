"""`--labels topic:TOPIC`: labels as messages, from a home automation, a watch or a button on the wall.

A message is `{"label": "active", "time": 1700000000, "for": 600}` (time and duration may be missing) or just the text
`active`; an empty one says that the activity is not known from here on. A retained message may be days old: without a
time it is ignored. What arrives is kept in the label file, where it survives a crash like any other label; what nobody
could use is not, and the log says why. The broker is one of the owner's own: labels say what a person does.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paho.mqtt.client import MQTTMessage

from edge_agent.agent import Agent
from edge_agent.errors import SourceError, StorageError
from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import AHEAD, EXPIRES, LASTS, LONGEST, NO_LABEL, Event
from edge_agent.mqtt.connection import Connection
from fsir.errors import shown
from fsir.net.broker import Broker
from fsir.task.slicing import UNKNOWN, Slicing

log = logging.getLogger("fsir.labels")
LARGEST = 4096  # bytes of a message


class NoLabelError(SourceError):
    """A message that is of no use as a label; `kind` is the same for messages with the same mistake.

    It goes into the log, so it does not quote the label: what a person does is nobody's business there.
    """

    def __init__(self, kind: str, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.kind = kind


def event_of(payload: bytes, now: float, retained: bool = False) -> Event | None:
    """The event that a message means; None if it may be an old one, an error if it means none."""
    if len(payload) > LARGEST:
        raise NoLabelError(
            "size", f"a message of {len(payload)} bytes", f"send a label, at most {LARGEST} bytes"
        )
    text = payload.decode("utf-8", "replace").strip()
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = text
    values = (
        found
        if isinstance(found, dict)
        else {"label": text if not isinstance(found, str) else found}
    )
    label, moment = values.get("label"), values.get("time")
    if moment is None and retained:
        return None
    if not isinstance(label, str | int | float) or len(str(label).strip()) > LONGEST:
        raise NoLabelError("text", "no label", f"send a text of at most {LONGEST} characters")
    start = now if moment is None else _number(moment)
    if not 0 <= start <= now + AHEAD:
        remedy = f"send seconds since the epoch, not milliseconds; now it is {now:.0f}"
        raise NoLabelError("time", f"time {shown(moment)}", remedy)
    return Event(start, str(label).strip(), _until(values, start, now, retained))


def _until(values: dict[str, Any], start: float, now: float, retained: bool) -> float:
    """When a label expires: like the button's half an hour after it was given, wherever it began."""
    if "for" in values:
        lasts = _number(values["for"])
        if not 0 < lasts <= LASTS:
            remedy = f"send seconds, above 0 and at most {LASTS:.0f} (30 days)"
            raise NoLabelError("for", f"for {shown(values['for'])}", remedy)
        return start + lasts
    # A retained one comes again with every connection: who knows when it was given? It must not live for ever.
    until = (start if retained else max(start, now)) + EXPIRES
    if until - start > LASTS + EXPIRES:
        remedy = 'more than 30 days ago; say how long it lasted with "for"'
        raise NoLabelError("long ago", f"time {shown(values['time'])}", remedy)
    return until


def _number(value: Any) -> float:
    """A number; NaN, which lies in no range, if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


class LabelTopic:
    """Keeps a connection to a broker of the owner, and appends every label that some task could use."""

    def __init__(
        self, broker: Broker, topic: str, directory: Path, agents: Sequence[Agent],
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._topic, self._directory, self._agents, self._clock = topic, directory, agents, clock
        self._last: Event | None = None
        self._told: set[str] = set()
        self.connection = Connection(
            broker, f"fsir-labels-{os.urandom(6).hex()}", [topic], self._take, qos=0
        )

    def _take(self, message: MQTTMessage) -> None:
        try:
            event = event_of(bytes(message.payload), self._clock(), message.retain)
            if event is None or event == self._last or (message.retain and self._has(event)):
                return  # a retained label comes with every connection
            self._check(event.label)
            label_file.append(self._directory, event)
            self._last = event
        except NoLabelError as error:
            # Once: whoever makes a mistake here makes it all day.
            if error.kind not in self._told:
                self._told.add(error.kind)
                log.warning("%s: not kept: %s", self._topic, error)
        except StorageError as error:
            log.error("%s", error)

    def _has(self, event: Event) -> bool:
        """Whether this is the label that came last; when that was counts for its expiry."""
        return self._last is not None and (event.time, event.label) == (
            self._last.time,
            self._last.label,
        )

    def _check(self, label: str) -> None:
        """Refuse what no task knows, unless there is one of which we have not heard yet."""
        if label == NO_LABEL or any(
            agent.task is None and not agent.reason for agent in self._agents
        ):
            return
        responses = [agent.task.response for agent in self._agents if agent.task is not None]
        if all(
            Slicing(known.classes, known.cuts).slice_of(label) == UNKNOWN for known in responses
        ):
            names = (
                ", ".join(sorted({name for known in responses for name in known.classes})) or "none"
            )
            raise NoLabelError(
                "unknown", "a label that no task of this device knows", f"known are {names}"
            )
