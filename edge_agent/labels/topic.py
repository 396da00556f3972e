"""`--labels topic:TOPIC`: labels as messages, from a home automation, a watch or a wall button.

What arrives is kept in the label file, where it survives a crash like any other label; what nobody
could use is not, and the log says why. The broker is one of the owner's own: labels say what a
person does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from paho.mqtt.client import MQTTMessage

from edge_agent.errors import StorageError
from edge_agent.labels import file as label_file
from edge_agent.labels.messages import NoLabelError, event_of
from edge_agent.labels.timeline import NO_LABEL, Event
from edge_agent.mqtt.subscription import Subscription
from fsir.net.broker import Broker
from fsir.task.slicing import UNKNOWN, Slicing

log = logging.getLogger("fsir.labels")


class LabelMessages:
    """Appends every label of use to some task that arrives on a topic of the owner's.

    known: how the tasks of this device slice labels; None while one of them is still to come, which
    may know any label.
    """

    def __init__(
        self,
        topic: str,
        directory: Path,
        known: Callable[[], Sequence[Slicing] | None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._topic = topic
        self._directory = directory
        self._known = known
        self._clock = clock
        self._last: Event | None = None
        self._told: set[str] = set()

    def take(self, message: MQTTMessage) -> None:
        """A message has arrived: keep its label, or say why not."""
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
        last = self._last
        return last is not None and (event.time, event.label) == (last.time, last.label)

    def _check(self, label: str) -> None:
        """Refuse what no task knows, unless there is one of which we have not heard yet."""
        known = self._known()
        if label == NO_LABEL or known is None:
            return
        if all(slicing.slice_of(label) == UNKNOWN for slicing in known):
            classes = sorted({name for slicing in known for name in slicing.classes})
            raise NoLabelError(
                "unknown",
                "a label that no task of this device knows",
                f"known are {', '.join(classes) or 'none'}",
            )


class LabelTopic(LabelMessages):
    """The same with a connection of its own to a broker of the owner."""

    def __init__(
        self,
        broker: Broker,
        topic: str,
        directory: Path,
        known: Callable[[], Sequence[Slicing] | None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(topic, directory, known, clock)
        self.subscription = Subscription(broker, "labels", topic, self.take, repeats=True)
