"""Virtual devices per second, and memory, against mosquitto:
with dropped connections and crashes on the way."""

from __future__ import annotations

import json
import subprocess
import sys

DEVICES = 5000
BARS = {"counted / came": ">= 1", "peak memory of the simulator (GB)": "< 4"}


def run(devices: int = DEVICES) -> dict[str, float]:
    """Counted over came, devices per second and peak memory of one run of `fsir-sim fleet`."""
    command = [sys.executable, "-m", "sim_devices", "fleet", "--devices", str(devices)]
    command += [
        "--records",
        "100",
        "--dropout",
        "0.1",
        "--crash",
        "0.05",
        "--broker",
        "mosquitto",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    table = json.loads(done.stdout.splitlines()[-1])
    peak = table["simulator_mb"] / 2**10
    return {
        "counted / came": table["reports_counted"] / table["devices"],
        "devices per second": table["devices_per_second"],
        "dropped connections": table["dropped_connections"],
        "crashes": table["crashes"],
        "peak memory of the simulator (GB)": peak,
    }
