"""`mqtt:TOPIC`: sensor readings as JSON on a topic, as Home Assistant and Zigbee2MQTT users have them.

Each message is one record. Messages are read at QoS 0 in a clean session, so that a broker delivers each at most once;
retained ones (the last reading, once more) and those marked as duplicates are ignored. A sensor that repeats itself can
be told from a new reading by a value that identifies it (`--record-id`, for example a time stamp or a counter).

They belong on a broker of the owner's own (`--source-broker`). Without one the agent looks on the task's broker: then
the readings pass over it, and whoever runs it can see them.
"""

from __future__ import annotations

import os
import time
import zlib
from collections import deque

from paho.mqtt.client import MQTTMessage

from edge_agent.errors import SourceError
from edge_agent.mqtt.connection import Connection
from edge_agent.records import Position, Record
from edge_agent.sources.base import Options
from edge_agent.sources.jsonl import values_of
from edge_agent.sources.lines import LONGEST
from edge_agent.sources.tally import Tally

QUEUE = 10_000  # readings that wait; more means that the device is too slow for its sensors
REMEMBERED = 1024  # identities of past readings
_FLOOD = "readings dropped: this device is too slow for its sensors"
_TOO_LONG = f"readings not used: longer than {LONGEST} bytes; let each message be one reading"


def check_topic(name: str, topic: str) -> None:
    """Refuse what is not a topic filter."""
    levels = topic.split("/")
    if (
        not topic
        or "#" in levels[:-1]
        or any(len(level) > 1 and set(level) & set("+#\0") for level in levels)
    ):
        raise SourceError(
            f"source {name}: not a valid topic filter; + stands for one level, # for the rest"
        )


class SensorTopic:
    """Readings on a topic, `+` and `#` included."""

    replayable = False

    def __init__(self, rest: str, options: Options) -> None:
        if options.broker is None:
            raise SourceError(
                "source mqtt: say where the sensors publish: --source-broker mqtt://HOST[:PORT]"
            )
        self.name = self.stream = f"mqtt:{rest}"
        check_topic(self.name, rest)
        self._record_id = options.record_id
        self._waiting: deque[Record] = deque()
        self._seen: list[int] = []
        self._ordinal = -1
        self._tally = Tally(self.name)
        name = f"fsir-source-{os.urandom(6).hex()}"
        self._connection = Connection(options.broker, name, [rest], self._take, qos=0)

    @property
    def ended(self) -> bool:
        """Sensors never end."""
        return False

    def resume(self, after: Position) -> None:
        """Number on, and remember which readings were seen."""
        self._ordinal = after.ordinal
        self._seen.extend(after.cursor or ())

    def _take(self, message: MQTTMessage) -> None:
        if message.retain or message.dup:
            return
        size = len(message.payload)
        if size > LONGEST:
            self._tally.add(_TOO_LONG, where=f"the last one has {size} bytes")
        values = values_of(message.payload) if size <= LONGEST else {}
        cursor = None
        if self._record_id is not None:
            identity = zlib.crc32(f"{message.topic}\0{values.get(self._record_id)!r}".encode())
            if identity in self._seen:
                return
            self._seen.append(identity)
            del self._seen[:-REMEMBERED]
            cursor = (
                self._seen
            )  # shared: whatever was read by the time of a checkpoint counts as seen
        if len(self._waiting) >= QUEUE:
            self._tally.add(_FLOOD)
            return
        self._ordinal += 1
        self._waiting.append(Record(Position(self._ordinal, cursor), values))

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` readings that have arrived."""
        for _ in range(limit):  # one step handles one message
            before = self._ordinal + self._tally.counts[_FLOOD]
            self._connection.step(time.monotonic())
            if self._ordinal + self._tally.counts[_FLOOD] == before:
                break
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def fileno(self) -> int | None:
        """What to wait on, while connected."""
        return None if self._waiting else self._connection.fileno()

    def delay(self) -> float:
        """Until the connection needs attention."""
        now = time.monotonic()
        return 0.0 if self._waiting else max(0.0, self._connection.next_due(now) - now)

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
