"""The messages of the app "Sensor Logger", each once and in order.

A message is JSON: {"messageId": 7, "sessionId": "...", "deviceId": "...", "payload": [{"name":
"gyroscope", "time": nanoseconds since the epoch, "values": {"x": ..., "y": ..., "z": ...}}, ...]}.
In its documentation the app counts from 0 in each recording session. If the first to arrive is
another one, those before it are waited for, as for any that was overtaken: this costs two seconds,
once, whoever begins to listen in mid-session.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable
from statistics import median_low
from typing import Any, NamedTuple

from edge_agent.sources.phone.motion import ASIDE, Motion
from edge_agent.sources.phone.readings import Reading, readings
from edge_agent.sources.samples import Samples
from edge_agent.sources.tally import Tally

PATIENCE_SECONDS = 2.0  # for which a message that was overtaken is waited for ...
MOST_HELD = 8  # ... or until so many have come after it
LARGEST_BYTES = 2**20  # of a message
MOST_DIGITS = 40  # of a whole number: Python refuses to read 4301, and with them the whole message
LAST_NUMBER = 2**53  # of a message: more than any session can count
# After which another phone, or a session with earlier times, may take over.
SILENCE_SECONDS = 60.0

TWICE = "messages dropped: they came twice, or too late"
TOO_LARGE = (
    f"messages dropped: larger than {LARGEST_BYTES} bytes; "
    "send smaller batches more often (a setting of the app)"
)
UNREADABLE = "messages dropped: not JSON of Sensor Logger"
LATE = (
    "messages dropped: of another session, with times before those of the one that is running "
    "(they are too late, or the phone's clock was set back: then they are taken once the other one "
    f"was silent for {SILENCE_SECONDS:.0f} s)"
)
OTHER = "messages dropped: they are of another phone; give each phone its own topic or address"
_ORDINARY = {ASIDE: 10**18}  # every Android phone does this all the time


class _Session(NamedTuple):
    """One recording of one phone, as the app names them: anything that JSON can say."""

    device: Any
    session: Any


class _Message(NamedTuple):
    session: _Session
    number: int | None
    payload: list[Any]


def _parse(raw: bytes) -> _Message | None:
    """A message; None if it is none.

    No byte and no number in a value makes it unreadable: a strange value costs its own reading, not
    its neighbours.
    """
    try:
        message = json.loads(raw.decode("utf-8-sig", "replace"), parse_int=_whole, strict=False)
        session = _Session(message.get("deviceId"), message.get("sessionId"))
        number = message.get("messageId")
        payload = message["payload"]
        hash(session)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return None
    numbered = number is None or (type(number) is int and 0 <= number < LAST_NUMBER)
    return _Message(session, number, payload) if numbered and isinstance(payload, list) else None


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


def _middle(message: list[Reading]) -> int:
    """The median of the times.

    By the first or the last one a single stray reading could decide about a session.
    """
    return median_low(reading.instant for reading in message)


class Phone:
    """Takes the messages of one phone in any order, gives its samples in order.

    clock: seconds since the epoch.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.time) -> None:
        self.tally = Tally(name, _ORDINARY)
        self._clock = clock
        self._device: Any = None
        self._heard = -math.inf
        self._reached = 0  # the middle of the session's latest message
        self._session: _Session | None = None
        self._past: deque[_Session | None] = deque(maxlen=8)  # sessions that are over
        self._next = 0
        self._held: dict[int, list[Reading]] = {}
        self._waiting_since: float | None = None
        self._motion = Motion(self.tally)
        self._samples: list[Samples] = []

    def take(self, raw: bytes, now: float) -> bool:
        """Take a message; false if it is none."""
        if len(raw) > LARGEST_BYTES:
            self.tally.add(TOO_LARGE, where=f"the last one has {len(raw)} bytes")
            return False
        message = _parse(raw)
        if message is None:
            self.tally.add(UNREADABLE)
            return False
        kept = readings(message.payload, self._clock(), self.tally)
        if self._belongs(message.session, kept, now):
            self._add(message, kept, now)
        return True

    def _belongs(self, session: _Session, kept: list[Reading], now: float) -> bool:
        """Whether a message is of the session that is running, or of one that may begin."""
        # The button "test", or other sensors; if in a session, its number counts all the same.
        if not kept and session != self._session:
            return False
        audible = now < self._heard + SILENCE_SECONDS
        if session.device != self._device and audible:
            self.tally.add(OTHER)
            return False
        if session in self._past:
            self.tally.add(TWICE)
            return False
        # Whoever starts in mid-session knows none of those before: a straggler of theirs must not
        # end this one. But after a clock was set back a new session has earlier times as well, so
        # only while this one is heard.
        if session != self._session and audible and _middle(kept) < self._reached:
            self.tally.add(LATE)
            return False
        return True

    def _add(self, message: _Message, kept: list[Reading], now: float) -> None:
        if message.session != self._session:
            self._begin(message.session, now)
        self._device = message.session.device
        if kept:
            self._heard = now
            self._reached = _middle(kept)
        if message.number is None:
            self._samples += self._motion.samples(kept, now)
        elif message.number in self._held or message.number < self._next:
            self.tally.add(TWICE)
        else:
            self._held[message.number] = kept
            self._waiting_since = now if self._waiting_since is None else self._waiting_since
        self._advance(now)

    def _begin(self, session: _Session, now: float) -> None:
        """Another session: whatever the one before has left behind stays there."""
        for number in sorted(self._held):
            self._samples += self._motion.samples(self._held.pop(number), now)
        self._motion.end()
        self._past.append(self._session)
        self._session = session
        self._next = 0
        self._waiting_since = None
        self._motion = Motion(self.tally)

    def _advance(self, now: float) -> None:
        """Go on with what has no gap before it, or has waited long enough."""
        while self._held:
            first = min(self._held)
            if not (first == self._next or self.due(now) <= 0 or len(self._held) > MOST_HELD):
                return
            self._samples += self._motion.samples(self._held.pop(first), now)
            self._next = first + 1
            # Whatever is behind the next gap has its own time to wait.
            if first + 1 not in self._held:
                self._waiting_since = now if self._held else None

    def due(self, now: float) -> float:
        """Seconds until something that is held is released."""
        if self._waiting_since is None:
            return math.inf
        return max(0.0, self._waiting_since + PATIENCE_SECONDS - now)

    def samples(self, now: float) -> list[Samples]:
        """What is ready."""
        self._advance(now)
        ready = self._samples
        self._samples = []
        return ready
