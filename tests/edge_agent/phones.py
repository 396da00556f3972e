"""A phone with Sensor Logger: a recording as the JSON messages that the app is documented to push."""

from __future__ import annotations

import numpy as np

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
        payload = [{"name": "barometer", "time": 1, "values": {"relativeAltitude": 0.1, "pressure": 1010.4}}]
        for moment, a in zip(times[low:high], acc[low:high], strict=True):
            if total:
                payload.append(entry("totalacceleration", moment, a * G, accuracy=3))
                payload.append(entry("accelerometeruncalibrated", moment, a))
            payload.append(entry("accelerometer", moment, a * G - UPRIGHT))
            payload.append(entry("gravity", moment, UPRIGHT))
        payload += [entry("gyroscope", m, g) for m, g in zip(times[low:high], gyro[low:high], strict=True)]
        found.append({"messageId": len(found), "sessionId": session, "deviceId": device, "payload": payload})
        low = high
    return found
