"""A phone with Sensor Logger: a recording as the JSON messages that the app is said to push."""

from __future__ import annotations

import json

import numpy as np

from edge_agent.records import START
from edge_agent.sources.phone.session import PATIENCE_SECONDS, Phone
from edge_agent.sources.windowed import SignalSource
from tests.edge_agent.sources.sensors import Sensor

G = 9.80665
UPRIGHT = np.array([0.0, G, 0.0])
ACCELERATION = ("totalacceleration", "accelerometer", "gravity")
PRESSURE = {"name": "barometer", "time": 1, "values": {"relativeAltitude": 0.1, "pressure": 1010.4}}


def entry(name, time, values, **more):
    """One reading; time: seconds since the epoch."""
    named = dict(zip("xyz", (float(value) for value in values), strict=True))
    return {"name": name, "time": round(time * 1e9), "values": named, **more}


def named(number, payload, session="one", device="phone"):
    """One message of the app, with its number, session and device."""
    return {"messageId": number, "sessionId": session, "deviceId": device, "payload": payload}


def messages(times, acc, gyro, total=True, batch=1.0, session="one", device="phone"):
    """A recording as the app pushes it: one message per batch.

    In it one stream after the other, and other sensors too.
    """
    sent = []
    low = 0
    while low < len(times):
        high = max(low + 1, int(np.searchsorted(times, times[low] + batch)))
        payload = [dict(PRESSURE)]
        for time, a in zip(times[low:high], acc[low:high], strict=True):
            if total:
                payload.append(entry("totalacceleration", time, a * G, accuracy=3))
                payload.append(entry("accelerometeruncalibrated", time, a))
            payload.append(entry("accelerometer", time, a * G - UPRIGHT))
            payload.append(entry("gravity", time, UPRIGHT))
        turns = zip(times[low:high], gyro[low:high], strict=True)
        payload += [entry("gyroscope", time, g) for time, g in turns]
        sent.append(named(len(sent), payload, session, device))
        low = high
    return sent


def without(sent, *names):
    """The messages of a phone with these sensors switched off."""
    return [
        {**one, "payload": [entry for entry in one["payload"] if entry["name"] not in names]}
        for one in sent
    ]


def values(records):
    """The features of records, by their number."""
    return {record.position.ordinal: tuple(record.x.values()) for record in records}


class Direct(Sensor):
    """A phone whose messages are handed over by the test."""

    def __init__(self, **clock):
        super().__init__()
        self.phone = Phone("sensorlogger:test", **clock)
        self.now = 0.0

    def read(self):
        return self.phone.samples(self.now)


def records_of(sent, step=0.0, **clock):
    """What a source makes of messages that come `step` seconds apart, the phone, and the source."""
    reader = Direct(**clock)
    source = SignalSource(reader, 8.0, 35.0)
    source.resume(START)
    records = []
    for one in sent:
        assert reader.phone.take(json.dumps(one).encode(), reader.now)
        records += source.poll(64)
        reader.now += step
    reader.now += 10 * PATIENCE_SECONDS
    return records + source.poll(64), reader.phone, source
