"""The messages of the app "Sensor Logger", each once and in order.

A message is JSON: {"messageId": 7, "sessionId": "...", "deviceId": "...", "payload": [{"name": "gyroscope", "time":
nanoseconds since the epoch, "values": {"x": ..., "y": ..., "z": ...}}, ...]}. In its documentation the app counts from
0 in each recording session. If the first to arrive is another one, those before it are waited for, as for any that was
overtaken: this costs two seconds, once, whoever begins to listen in mid-session.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable
from statistics import median_low
from typing import Any

from edge_agent.sources.phone.readings import ASIDE, Motion, Reading, readings
from edge_agent.sources.tally import Tally
from edge_agent.sources.windowed import Samples

PATIENCE = 2.0  # seconds for which a message that was overtaken is waited for ...
HELD = 8  # ... or until so many have come after it
LARGEST = 2**20  # bytes of a message
MOST_DIGITS = 40  # of a whole number: Python refuses to read 4301, and with them the whole message
LAST_NUMBER = 2**53  # of a message: more than any session can count
SILENCE = 60.0  # seconds after which another phone, or a session with earlier times, may take over

TWICE = "messages dropped: they came twice, or too late"
TOO_LARGE = f"messages dropped: larger than {LARGEST} bytes; send smaller batches more often (a setting of the app)"
UNREADABLE = "messages dropped: not JSON of Sensor Logger"
LATE = (
    "messages dropped: of another session, with times before those of the one that is running (they are too late, or "
    f"the phone's clock was set back: then they are taken once the other one was silent for {SILENCE:.0f} s)"
)
OTHER = "messages dropped: they are of another phone; give each phone its own topic or address"
_ORDINARY = {ASIDE: 10**18}  # every Android phone does this all the time


def _parse(raw: bytes) -> tuple[Any, Any, int | None, list[Any]] | None:
    """Device, session, number and payload of a message; None if it is none.

    No byte and no number in a value makes it unreadable: a strange value costs its own reading, not its neighbours.
    """
    try:
        message = json.loads(raw.decode("utf-8-sig", "replace"), parse_int=_whole, strict=False)
        device, session, number = (
            message.get(key) for key in ("deviceId", "sessionId", "messageId")
        )
        payload = message["payload"]
        hash((device, session))
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return None
    numbered = number is None or (type(number) is int and 0 <= number < LAST_NUMBER)
    return (device, session, number, payload) if numbered and isinstance(payload, list) else None


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


def _middle(found: list[Reading]) -> int:
    """The median of the times. By the first or the last one a single stray reading could decide about a session."""
    return median_low(moment for _, moment, _ in found)


class Phone:
    """Takes the messages of one phone in any order, gives its samples in order. clock: seconds since the epoch."""

    def __init__(self, name: str, clock: Callable[[], float] = time.time) -> None:
        self.tally = Tally(name, _ORDINARY)
        self._clock = clock
        self._device: Any = None
        self._heard = -math.inf
        self._reached = 0  # the middle of the session's latest message
        self._session: Any = None
        self._past: deque[Any] = deque(maxlen=8)  # sessions that are over
        self._next = 0
        self._held: dict[int, list[Reading]] = {}
        self._waiting_since: float | None = None
        self._motion = Motion(self.tally)
        self._samples: list[Samples] = []

    def take(self, raw: bytes, now: float) -> bool:
        """Take a message; false if it is none."""
        if len(raw) > LARGEST:
            self.tally.add(TOO_LARGE, where=f"the last one has {len(raw)} bytes")
            return False
        message = _parse(raw)
        if message is None:
            self.tally.add(UNREADABLE)
            return False
        device, session, number, payload = message
        found = readings(payload, self._clock(), self.tally)
        if not found and (device, session) != self._session:
            return True  # the button "test", or other sensors; if in a session, its number counts all the same
        if device != self._device and now < self._heard + SILENCE:
            self.tally.add(OTHER)
            return True
        if (device, session) in self._past:
            self.tally.add(TWICE)
            return True
        if (device, session) != self._session:
            # Whoever starts in mid-session knows none of those before: a straggler of theirs must not end this one. But
            # after a clock was set back a new session has earlier times as well, so only while this one is heard.
            if now < self._heard + SILENCE and _middle(found) < self._reached:
                self.tally.add(LATE)
                return True
            self._begin((device, session), now)
        self._device = device
        if found:
            self._heard, self._reached = now, _middle(found)
        if number is None:
            self._samples += self._motion.samples(found, now)
        elif number in self._held or number < self._next:
            self.tally.add(TWICE)
        else:
            self._held[number] = found
            self._waiting_since = now if self._waiting_since is None else self._waiting_since
        self._advance(now)
        return True

    def _begin(self, session: Any, now: float) -> None:
        """Another session: whatever the one before has left behind stays there."""
        for number in sorted(self._held):
            self._samples += self._motion.samples(self._held.pop(number), now)
        self._motion.end()
        self._past.append(self._session)
        self._session, self._next, self._waiting_since, self._motion = (
            session,
            0,
            None,
            Motion(self.tally),
        )

    def _advance(self, now: float) -> None:
        """Go on with what has no gap before it, or has waited long enough."""
        while self._held:
            first = min(self._held)
            late = self._waiting_since is not None and now >= self._waiting_since + PATIENCE
            if not (first == self._next or late or len(self._held) > HELD):
                return
            self._samples += self._motion.samples(self._held.pop(first), now)
            self._next = first + 1
            if (
                first + 1 not in self._held
            ):  # whatever is behind the next gap has its own time to wait
                self._waiting_since = now if self._held else None

    def due(self, now: float) -> float:
        """Seconds until something that is held is released."""
        return (
            math.inf
            if self._waiting_since is None
            else max(0.0, self._waiting_since + PATIENCE - now)
        )

    def samples(self, now: float) -> list[Samples]:
        """What is ready."""
        self._advance(now)
        found, self._samples = self._samples, []
        return found
