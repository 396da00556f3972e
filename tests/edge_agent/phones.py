"""A phone with Sensor Logger: a recording as the JSON messages that the app is documented to push."""

from __future__ import annotations

import json

import numpy as np

from edge_agent.records import START
from edge_agent.sources.phone.session import PATIENCE, Phone
from edge_agent.sources.windowed import SignalSource
from tests.edge_agent.sources.test_windowed import Sensor

G = 9.80665
UPRIGHT = np.array([0.0, G, 0.0])


def entry(name, moment, values, **more):
    named = dict(zip("xyz", (float(value) for value in values), strict=True))
    return {"name": name, "time": round(moment * 1e9), "values": named, **more}


def messages(times, acc, gyro, total=True, batch=1.0, session="one", device="phone"):
    """A recording as the app pushes it: one message per batch, streams one after the other, other sensors too."""
    found, low = [], 0
    while low < len(times):
        high = max(low + 1, int(np.searchsorted(times, times[low] + batch)))
        payload = [
            {
                "name": "barometer",
                "time": 1,
                "values": {"relativeAltitude": 0.1, "pressure": 1010.4},
            }
        ]
        for moment, a in zip(times[low:high], acc[low:high], strict=True):
            if total:
                payload.append(entry("totalacceleration", moment, a * G, accuracy=3))
                payload.append(entry("accelerometeruncalibrated", moment, a))
            payload.append(entry("accelerometer", moment, a * G - UPRIGHT))
            payload.append(entry("gravity", moment, UPRIGHT))
        payload += [
            entry("gyroscope", m, g) for m, g in zip(times[low:high], gyro[low:high], strict=True)
        ]
        found.append(
            {"messageId": len(found), "sessionId": session, "deviceId": device, "payload": payload}
        )
        low = high
    return found


class Direct(Sensor):
    """A phone whose messages are handed over by the test."""

    def __init__(self, **clock):
        super().__init__()
        self.phone, self.now = Phone("sensorlogger:test", **clock), 0.0

    def read(self):
        return self.phone.samples(self.now)


def records_of(sent, step=0.0, **clock):
    """What a source makes of messages that come `step` seconds apart, the phone, and the source."""
    reader = Direct(**clock)
    source = SignalSource(reader, 8.0, 35.0)
    source.resume(START)
    found = []
    for message in sent:
        assert reader.phone.take(json.dumps(message).encode(), reader.now)
        found += source.poll(64)
        reader.now += step
    reader.now += 10 * PATIENCE
    return found + source.poll(64), reader.phone, source
