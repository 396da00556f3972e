"""`fsir-agent run --source iio:...` as a process: windows of the device's own sensors."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
import time

import numpy as np
import pytest

from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.motion import BEGIN, raw_task, recording, until
from tests.edge_agent.processes import command, end
from tests.edge_agent.sources.iio.fake_iio import FakeDevice


def shake(device, leaving):
    """Somebody moves the device: sysfs shows other readings all the time."""
    rng = np.random.default_rng(1)
    while not leaving.wait(0.005):
        device.move(rng.normal([0, 0, 1], 0.1), rng.normal(size=3))


def scans(device):
    """The scans of somebody who walks on and on."""
    for minute in itertools.count():
        for sample in zip(*recording(60, start=BEGIN + 60 * minute), strict=True):
            yield device.scan(*sample)


def feed_while(process, pipe, device):
    """Minutes of samples go by in seconds, as fast as the agent takes them."""
    for data in scans(device):
        written = 0
        while not written:
            if process.poll() is not None:
                return
            try:
                written = os.write(pipe, data)
            except BlockingIOError:
                time.sleep(0.01)


@pytest.mark.broker
@pytest.mark.parametrize("way", ["buffer", "sysfs"])
def test_the_agent_serves_windows_of_its_own_sensors(mosquitto_url, tmp_path, way):
    """With a subspace on the broker each window comes out as one number."""
    device = FakeDevice(tmp_path, 0, "mpu6050")
    leaving = threading.Event()
    served: list[str] = []
    with TinyAggregator(mosquitto_url, raw_task()) as server:
        server.emit()
        pipe = device.switch_on() if way == "buffer" else None
        process = subprocess.Popen(
            command(mosquitto_url, f"iio:{tmp_path}/mpu6050", tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if pipe is None:
            wanted = 1  # a busy machine may miss others: no thread may be held up for 60 ms
            moving = threading.Thread(target=shake, args=(device, leaving), daemon=True)
        else:
            wanted = 10
            moving = threading.Thread(target=feed_while, args=(process, pipe, device), daemon=True)
        try:
            moving.start()
            threading.Thread(target=lambda: served.extend(process.stdout), daemon=True).start()
            until(lambda: len(served) >= wanted, 180)
        finally:
            leaving.set()
            end(process)
            moving.join(30)
            if pipe is not None:
                os.close(pipe)
    lines = [json.loads(line) for line in served[:wanted]]
    records = [line["record"] for line in lines]
    assert len(lines[0]["z"]) == 1
    if pipe is not None:
        assert records == list(range(records[0], records[0] + wanted))
    else:
        assert abs(records[0] * 1.28 - time.time()) < 600
