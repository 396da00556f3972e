"""The messages of the app "Sensor Logger", put in order and turned into samples.

A message is JSON: {"messageId": 7, "sessionId": "...", "deviceId": "...", "payload": [{"name": "gyroscope", "time":
nanoseconds since the epoch, "values": {"x": ..., "y": ..., "z": ...}}, ...]}. Its streams that matter here:
    totalacceleration     with gravity, m/s^2; Android only
    accelerometer         without gravity, m/s^2 ...
    gravity               ... which is then added, from the reading with the same time
    gyroscope             rad/s
Signs are those of Android: on an iPhone the setting "Standardise Units & Frames" brings them about. Nobody can tell
from the data whether it is on. Each message counts once: repeated ones are dropped, those out of order are put right.
"""

from __future__ import annotations

import json
import math
from collections import deque
from typing import Any

import numpy as np

from edge_agent.sources.signals import LATEST, STANDARD_GRAVITY, Samples
from edge_agent.sources.tally import Tally

Vector = tuple[float, float, float]
Readings = dict[str, dict[int, Vector]]  # stream -> time in nanoseconds -> values

TOTAL, BODY, GRAVITY, ROTATION = "totalacceleration", "accelerometer", "gravity", "gyroscope"
PATIENCE = 2.0  # seconds for which a message that was overtaken is waited for ...
HELD = 8  # ... or until so many have come after it
LARGEST = 2**20  # bytes of a message
SILENCE = 60.0  # seconds after which another phone may take over
PENDING = 512  # readings that wait for their gravity, or the other way round
SLICE = 10**9  # ns of one sensor before it is the other's turn: neither may run far ahead of the other

TWICE = "messages dropped: they came twice, or too late"
OTHER = "messages dropped: they are of another phone; give each phone its own topic or address"
LONELY = "readings dropped: accelerometer without gravity at the same time; switch on both streams in the app"
NONSENSE = "readings dropped: without a time, or without three numbers"


class Phone:
    """Takes the messages of one phone in any order, gives its samples in order of time."""

    def __init__(self, name: str) -> None:
        self.tally = Tally(name)
        self._device: Any = None
        self._heard = -math.inf
        self._session: Any = None
        self._past: deque[Any] = deque(maxlen=8)  # sessions that are over
        self._next: int | None = None
        self._held: dict[int, Readings] = {}
        self._waiting_since: float | None = None
        self._ready: deque[Readings] = deque()
        self._pending: Readings = {BODY: {}, GRAVITY: {}}
        self._total = False  # whether the phone gives the total acceleration itself

    # --- messages in order ----------------------------------------------------------------------------------------

    def take(self, raw: bytes, now: float) -> bool:
        """Take a message; false if it is none."""
        if len(raw) > LARGEST:
            return False
        try:
            message = json.loads(raw)
            payload = message["payload"]
            session, device, number = (message.get(key) for key in ("sessionId", "deviceId", "messageId"))
            hash((session, device))
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
            return False
        if not isinstance(payload, list) or not (number is None or type(number) is int):
            return False
        readings = self._readings(payload)
        if not readings:
            return True  # the button "test", or other sensors
        if device != self._device and self._device is not None and now < self._heard + SILENCE:
            self.tally.add(OTHER)
            return True
        self._device, self._heard = device, now
        if session != self._session:
            if session in self._past:
                self.tally.add(TWICE)
                return True
            self._flush()
            self._past.append(self._session)
            self._session, self._next = session, None
        if number is None:
            self._ready.append(readings)
        elif number in self._held or (self._next is not None and number < self._next):
            self.tally.add(TWICE)
        else:
            self._held[number] = readings
            self._waiting_since = now if self._waiting_since is None else self._waiting_since
        self._advance(now)
        return True

    def _advance(self, now: float) -> None:
        """Make ready what has no gap before it, or has waited long enough."""
        while self._held:
            first = min(self._held)
            late = self._waiting_since is not None and now >= self._waiting_since + PATIENCE
            if not (self._next is None or first == self._next or late or len(self._held) > HELD):
                return
            self._ready.append(self._held.pop(first))
            self._next = first + 1
            if first + 1 not in self._held:  # whatever is behind the next gap has its own time to wait
                self._waiting_since = now if self._held else None

    def _flush(self) -> None:
        self._ready.extend(self._held.pop(number) for number in sorted(self._held))
        self._waiting_since = None

    def due(self, now: float) -> float:
        """Seconds until something that is held is released."""
        return math.inf if self._waiting_since is None else max(0.0, self._waiting_since + PATIENCE - now)

    # --- readings -------------------------------------------------------------------------------------------------

    def _readings(self, payload: list[Any]) -> Readings:
        found: Readings = {}
        for entry in payload:
            name = entry.get("name") if isinstance(entry, dict) else None
            if name not in (TOTAL, BODY, GRAVITY, ROTATION):
                continue
            try:
                moment, values = int(entry["time"]), entry["values"]
                vector = float(values["x"]), float(values["y"]), float(values["z"])
            except (KeyError, TypeError, ValueError, OverflowError):
                self.tally.add(NONSENSE)
                continue
            if 0 <= moment < LATEST * 1e9:
                found.setdefault(name, {})[moment] = vector
            else:
                self.tally.add(NONSENSE)
        return found

    def samples(self, now: float) -> list[Samples]:
        """What is ready."""
        self._advance(now)
        found: list[Samples] = []
        while self._ready:
            found += self._pieces(self._ready.popleft())
        return found

    def _pieces(self, readings: Readings) -> list[Samples]:
        self._total = self._total or TOTAL in readings
        acceleration = readings.get(TOTAL, {}) if self._total else self._with_gravity(readings)
        rotation = readings.get(ROTATION, {})
        acc, gyro = deque(sorted(acceleration.items())), deque(sorted(rotation.items()))
        found = []
        while acc or gyro:
            end = min(queue[0][0] for queue in (acc, gyro) if queue) + SLICE
            if acc and acc[0][0] < end:
                found.append(Samples(*_arrays(acc, end, 1 / STANDARD_GRAVITY)))
            if gyro and gyro[0][0] < end:
                times, values = _arrays(gyro, end, 1.0)
                found.append(Samples(times, gyro=values))
        return found

    def _with_gravity(self, readings: Readings) -> dict[int, Vector]:
        """Sums of readings with the same time: of a neighbour in time would put one sample into more windows."""
        for name, waiting in self._pending.items():
            waiting.update(readings.get(name, {}))
        body, gravity = self._pending[BODY], self._pending[GRAVITY]
        found: dict[int, Vector] = {}
        for moment in body.keys() & gravity.keys():
            (a, b, c), (d, e, f) = body.pop(moment), gravity.pop(moment)
            found[moment] = a + d, b + e, c + f
        for name, waiting in self._pending.items():
            for moment in sorted(waiting)[: max(0, len(waiting) - PENDING)]:
                del waiting[moment]
                self.tally.add(LONELY, name == BODY)
        return found


def _arrays(queue: deque[tuple[int, Vector]], end: int, unit: float) -> tuple[Any, Any]:
    """The readings before a moment as times and values."""
    taken = []
    while queue and queue[0][0] < end:
        taken.append(queue.popleft())
    return np.array([moment / 1e9 for moment, _ in taken]), np.array([vector for _, vector in taken]) * unit
