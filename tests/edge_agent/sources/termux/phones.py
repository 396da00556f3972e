"""A phone with Termux: a `termux-sensor` that prints what the real one does, and fails as it does.

What it does is in the folder of the fake: `manner` is read at each start, and `calls` has a line
for each. As in Termux:API 0.53 the last reading is printed again until the sensor gives another, at
indentation 2, after a sleep; while one listens nobody else hears anything.
"""

from __future__ import annotations

import json
import os
import sys

FAKE = """\
#!{python}
import json, math, os, signal, sys, time
folder = os.path.dirname(os.path.abspath(__file__))
words = sys.argv[1:]
with open(folder + "/calls", "a") as file:
    file.write(" ".join(words) + "\\n")
with open(folder + "/manner") as file:
    manner = json.load(file)
if words == ["-c"]:
    print("Sensor cleanup unnecessary")
    sys.exit()
if manner.get("hangs"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as a script whose helper waits for the app
    time.sleep(600)
given = dict(zip(words[::2], words[1::2]))
wanted = given["-s"].split(",")
names = manner.get("names", ["lsm6dso LSM6DSO Accelerometer Non-wakeup", "LSM6DSO Gyroscope"])
names = [name for name in names if any(part.upper() in name.upper() for part in wanted)]
if not names:
    print("No valid sensors were registered!")
    sys.exit()
delay = int(given["-d"]) / 1000
limit = int(given.get("-n", 2**31))
trial = "-n" in given
begun = time.monotonic()
for count in range(limit):
    time.sleep(delay)
    gone = time.monotonic() - begun
    if not trial and gone > manner.get("silent_after", 1e9):
        time.sleep(600)
    if not trial and gone > manner.get("ends_after", 1e9):
        sys.exit()
    # The moment of the last reading, at the rate of the sensor.
    at = math.floor(gone * manner.get("rate", 52.0)) / manner.get("rate", 52.0)
    readout = {{}}
    if count >= manner.get("empty", 2):
        swing = [math.sin(2 * math.pi * f * at) for f in (1.9, 3.1, 0.7)]
        for name in names:
            still = 9.80665 if "ccel" in name else 0.0
            values = [swing[0], swing[1], still + swing[2]]
            readout[name] = {{"values": [round(value, 7) for value in values]}}
    if not trial and count in manner.get("garbage_at", []):
        print(manner.get("garbage", "Connection refused"), flush=True)
    print(json.dumps(readout, indent=2) if readout else "{{}}", flush=True)
"""


class Phone:
    """The folder of a fake, first on the path."""

    def __init__(self, folder, monkeypatch):
        self._folder = folder
        program = folder / "termux-sensor"
        program.write_text(FAKE.format(python=sys.executable))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        self.behave()

    def behave(self, **manner):
        """From the next start on."""
        (self._folder / "manner").write_text(json.dumps(manner))

    def calls(self):
        """How it was called, in order."""
        calls = self._folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []
