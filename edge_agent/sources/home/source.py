"""`mqtt:@FILE`: many topics, one record every so many seconds.

Home Assistant (`mqtt_statestream`) and many sensors publish one value a topic, when it changes. A
file of the owner (`edge_agent/sources/home/template.py`) says which topics make a record. There is
one at each multiple of `every` seconds since 1970, whatever has come: what decides that a record is
offered, and its number, is the clock alone. It holds what was last said on each topic; a value that
nobody has told, or that is too old, is missing, and the record counts as null.

A value that is held stands in several records. Time is cut into periods of `every` seconds; a
message of period j is in records j + 1 to j + h at most, with `h` the whole part of
`max_age/every`. So `unit_records` is the largest h, exactly, whatever the clock does: each number
is given out once. What the broker has retained is not taken: it may have been in records before.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paho.mqtt.client import MQTTMessage

from edge_agent.errors import SourceError
from edge_agent.mqtt.subscription import Subscription
from edge_agent.records import Position, Record
from edge_agent.sources.base import Options
from edge_agent.sources.home.template import MISSING, Value, load_template
from edge_agent.sources.lines import LONGEST_BYTES
from edge_agent.sources.tally import Tally
from fsir.net.broker import Broker

_SKIPPED = "records passed by: the device was asleep, or too busy, when they were due"
_BEHIND = "times the clock went back: there are no records until it is where it was"
_TOO_LONG = f"messages not used: longer than {LONGEST_BYTES} bytes"
_NOT_KNOWN = "messages not used: not a word that the template knows, or no value at all"


class Home:
    """The last known values of some topics, as a record at each tick of the clock."""

    replayable = False
    label = ""

    def __init__(self, path: str, options: Options, clock: Callable[[], float] = time.time) -> None:
        place = Path(path).resolve()
        self._template = load_template(place)
        # Records of another pace are others, under other numbers.
        self.name = f"mqtt:@{place} every {self._template.every} s"
        self.stream = self.name
        self.unit_records = self._template.unit_records
        broker = _checked(self.name, options)
        self._clock = clock
        self._last = -1
        self._late = False
        self._heard: dict[str, tuple[int, Any]] = {}  # by name: when, in periods, and what
        self._waiting: deque[Record] = deque()
        self._tally = Tally(self.name)
        self._subscription = Subscription(broker, "source", self._template.topics, self._take)

    @property
    def ended(self) -> bool:
        """A home never ends."""
        return False

    def resume(self, after: Position) -> None:
        """The next record is that of the next tick: of the running period too little is known."""
        self._last = max(after.ordinal, self._period())

    def _period(self) -> int:
        return int(self._clock() // self._template.every)

    # --- messages ---------------------------------------------------------------------------------

    def _take(self, message: MQTTMessage) -> None:
        period = self._tick()  # first: what comes now is for later records
        payload = bytes(message.payload)
        if len(payload) > LONGEST_BYTES:
            self._tally.add(_TOO_LONG, where=message.topic)
            return
        for value in self._template.values:
            if value.topic == message.topic and (content := value.read(payload)) is not MISSING:
                self._heard[value.name] = (period, content)
                if content is None:
                    self._tally.add(_NOT_KNOWN, where=f"the last one for {value.name}")

    # --- records ----------------------------------------------------------------------------------

    def _tick(self) -> int:
        """Make the record of the period that has begun, if it is a new one; returns the period."""
        period = self._period()
        if period > self._last:
            self._late = False
            self._tally.add(_SKIPPED, period - self._last - 1)
            self._last = period
            self._waiting.append(self._record(period))
        elif period < self._last and not self._late:
            self._late = True
            self._tally.add(_BEHIND)
        return period

    def _record(self, period: int) -> Record:
        known = ((value.name, self._known(value, period)) for value in self._template.values)
        values = {name: content for name, content in known if content is not None}
        return Record(Position(period), values)

    def _known(self, value: Value, period: int) -> Any:
        """What a record of this period says; None if nobody has told it."""
        before, content = self._heard.get(value.name, (period, None))
        return content if 1 <= period - before <= value.holds else value.otherwise

    def poll(self, limit: int) -> list[Record]:
        """The record whose time has come, if it has."""
        self._subscription.poll(limit)
        self._tick()
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def fileno(self) -> int | None:
        """What to wait on, while connected."""
        return None if self._waiting else self._subscription.fileno()

    def delay(self) -> float:
        """Until the next tick, or until the connection needs attention."""
        every = self._template.every
        left = every - self._clock() % every
        return 0.0 if self._waiting else min(left, self._subscription.delay())

    def close(self) -> None:
        """Disconnect."""
        self._subscription.close()


def _checked(name: str, options: Options) -> Broker:
    """Where the sensors publish; options that would not do what they say are refused."""
    if options.broker is None:
        raise SourceError(
            f"source {name}: say where the sensors publish: --source-broker mqtt://HOST[:PORT]"
        )
    for flag, given in (("record-id", options.record_id), ("time-column", options.time_column)):
        if given is not None:
            raise SourceError(
                f"--{flag} {given}: records of a template are numbered and dated by the clock; "
                "leave it out"
            )
    return options.broker
