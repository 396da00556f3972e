"""`mqtt:TOPIC`: sensor readings on a topic, as Zigbee2MQTT and Tasmota publish them.

Each message is one record: a JSON object, or a plain number, which is called `value`. Where a
record needs several topics, or its values come only when they change, see `mqtt:@FILE` in
`edge_agent/sources/home/`. Messages are read at QoS 0 in a clean session, so that a broker delivers
each at most once; retained ones (the last reading, once more) and those marked as duplicates are
ignored. A sensor that repeats itself can be told from a new reading by a value that identifies it
(`--record-id`, for example a time stamp or a counter).

Without one nobody knows whether the next run, or the next message, brings a reading once more. So
each run is a stream of its own, and a message that says the very same as one before it is taken for
that one: it keeps its place, and is not learned.

They belong on a broker of the owner's own (`--source-broker`). Without one the agent looks on the
task's broker: then the readings pass over it, and whoever runs it can see them.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections import Counter, deque
from typing import Any

from paho.mqtt.client import MQTTMessage

from edge_agent.errors import SourceError
from edge_agent.mqtt.subscription import Subscription
from edge_agent.records import Position, Record
from edge_agent.sources.base import Options, Source
from edge_agent.sources.jsonl import record_of, values_of
from edge_agent.sources.lines import LONGEST_BYTES
from edge_agent.sources.tally import Tally

# Readings that wait; more means that the device is too slow for its sensors.
LONGEST_QUEUE = 10_000
REMEMBERED = 1024  # identities of past readings, where they have one
REMEMBERED_TEXTS = 100_000  # readings without one, by a digest of 8 bytes
VALUE = "value"  # what a plain number is called
REPEATED = "repeated"
_FLOOD = "readings dropped: this device is too slow for its sensors"
_REPEATED = (
    "readings not learned: the very same as an earlier one; if yours may repeat, "
    "name the value that tells them apart with --record-id, or sample them: mqtt:@FILE"
)
_TOO_LONG = f"readings not used: longer than {LONGEST_BYTES} bytes; let each message be one reading"


def check_topic(name: str, topic: str) -> None:
    """Refuse what is not a topic filter."""
    levels = topic.split("/")
    mixed = any(len(level) > 1 and set(level) & set("+#\0") for level in levels)
    if not topic or "#" in levels[:-1] or mixed:
        raise SourceError(
            f"source {name}: not a valid topic filter; + stands for one level, # for the rest"
        )


def open_mqtt(rest: str, options: Options) -> Source:
    """A topic, or the topics of a template."""
    if not rest.startswith("@"):
        return SensorTopic(rest, options)
    from edge_agent.sources.home.source import Home

    return Home(rest[1:], options)


def _number(payload: bytes | bytearray) -> dict[str, Any]:
    """The values of a payload that is a plain number; empty for anything else.

    >>> _number(b"21.5"), _number(b"on"), _number(b"true")
    ({'value': 21.5}, {}, {})
    """
    try:
        number = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return {VALUE: number} if type(number) in (int, float) else {}


class SensorTopic:
    """Readings on a topic, `+` and `#` included."""

    replayable = False
    unit_records = 1
    label = ""

    def __init__(self, rest: str, options: Options) -> None:
        if options.broker is None:
            raise SourceError(
                "source mqtt: say where the sensors publish: --source-broker mqtt://HOST[:PORT]"
            )
        self.name = f"mqtt:{rest}"
        check_topic(self.name, rest)
        self._record_id = options.record_id
        self.stream = self.name
        if self._record_id is None:
            self.stream = f"{self.name}#{os.urandom(4).hex()}"
        # Of the last messages of this run: a ring, so that it forgets by their number alone.
        self._texts: deque[bytes] = deque()
        self._times: Counter[bytes] = Counter()
        self._waiting: deque[Record] = deque()
        self._seen: list[int] = []
        self._ordinal = -1
        self._tally = Tally(self.name)
        self._subscription = Subscription(options.broker, "source", rest, self._take)

    @property
    def ended(self) -> bool:
        """Sensors never end."""
        return False

    def resume(self, after: Position) -> None:
        """Number on, and remember which readings were seen."""
        self._ordinal = after.ordinal
        self._seen.extend(after.cursor or ())

    def _take(self, message: MQTTMessage) -> None:
        values = self._values(message.payload)
        if not self._is_new(message.topic, values):
            return
        repeated = self._record_id is None and self._is_repeated(message)
        if len(self._waiting) >= LONGEST_QUEUE:
            self._tally.add(_FLOOD)
            return
        self._ordinal += 1
        # Shared: whatever was read by the time of a checkpoint counts as seen.
        cursor = None if self._record_id is None else self._seen
        position = Position(self._ordinal, cursor)
        if repeated:
            self._tally.add(_REPEATED)
        self._waiting.append(
            Record(position, values, fault=REPEATED) if repeated else record_of(position, values)
        )

    def _values(self, payload: bytes | bytearray) -> dict[str, Any]:
        if len(payload) > LONGEST_BYTES:
            self._tally.add(_TOO_LONG, where=f"the last one has {len(payload)} bytes")
            return {}
        return values_of(payload) or _number(payload)

    def _is_new(self, topic: str, values: dict[str, Any]) -> bool:
        """Whether this reading was not seen before; without `--record-id` nobody knows."""
        if self._record_id is None:
            return True
        identity = zlib.crc32(f"{topic}\0{values.get(self._record_id)!r}".encode())
        if identity in self._seen:
            return False
        self._seen.append(identity)
        del self._seen[:-REMEMBERED]
        return True

    def _is_repeated(self, message: MQTTMessage) -> bool:
        """Whether a message of this run said the very same before."""
        text = message.topic.encode() + b"\0" + bytes(message.payload)
        identity = hashlib.blake2b(text, digest_size=8).digest()
        repeated = identity in self._times
        self._texts.append(identity)
        self._times[identity] += 1
        if len(self._texts) > REMEMBERED_TEXTS:
            oldest = self._texts.popleft()
            self._times[oldest] -= 1
            if not self._times[oldest]:
                del self._times[oldest]
        return repeated

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` readings that have arrived."""
        self._subscription.poll(limit)
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def fileno(self) -> int | None:
        """What to wait on, while connected."""
        return None if self._waiting else self._subscription.fileno()

    def delay(self) -> float:
        """Until the connection needs attention."""
        return 0.0 if self._waiting else self._subscription.delay()

    def close(self) -> None:
        """Disconnect."""
        self._subscription.close()
