"""`fsir-agent run --source mqtt:@FILE` as a process: states of a home, one value a topic."""

from __future__ import annotations

import itertools
import subprocess
import threading

import pytest

from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import command, end, ledger, wait_for_line
from tests.fsir.tasks import task

HOME = """
every = 1
max_age = 2

[values.x0]
topic = "homeassistant/sensor/kitchen_temperature/state"

[values.x1]
topic = "homeassistant/binary_sensor/hall_motion/state"
words = { on = 1, off = 0 }

[values.x2]
topic = "tele/bath/SENSOR"
path = "AM2301.Temperature"

[values.y]
topic = "homeassistant/input_select/mood/state"
"""


def states(server, stop):
    """Home Assistant and a Tasmota: they publish what has changed, and retain it."""
    for k in itertools.count():
        if stop.wait(0.1):
            return
        base = "homeassistant"
        server.publish(f"{base}/sensor/kitchen_temperature/state", b"%d.5" % (k % 9), retain=True)
        motion = b"on" if k % 3 else b"off"
        server.publish(f"{base}/binary_sensor/hall_motion/state", motion, retain=True)
        reading = b'{"Time":"2019-01-01T00:00:%02d","AM2301":{"Temperature":24.%d}}'
        server.publish("tele/bath/SENSOR", reading % (k % 60, k % 10))
        server.publish(f"{base}/input_select/mood/state", b"abc"[k % 3 : k % 3 + 1], retain=True)


@pytest.mark.broker
@pytest.mark.long
def test_states_on_many_topics_become_records_at_each_tick(mosquitto_url, tmp_path):
    (tmp_path / "home.toml").write_text(HOME)
    of = task(privacy={"unit_records": 2}, report={"records": 4})
    stop = threading.Event()
    with TinyAggregator(mosquitto_url, of) as server:
        home = threading.Thread(target=states, args=(server, stop), daemon=True)
        home.start()
        arguments = command(
            mosquitto_url,
            f"mqtt:@{tmp_path / 'home.toml'}",
            tmp_path,
            *("--once", "--source-broker", mosquitto_url),
        )
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        try:
            wait_for_line(process, "final report made from 4 records")
            assert process.wait(30) == 0
        finally:
            stop.set()
            home.join(30)
            end(process)
    (row,) = ledger(tmp_path)
    assert row.source == f"mqtt:@{tmp_path.resolve()}/home.toml every 1 s"
    assert row.last - row.first == 3


@pytest.mark.broker
def test_a_task_that_protects_one_record_gets_no_held_values(mosquitto_url, tmp_path):
    (tmp_path / "home.toml").write_text(HOME)
    with TinyAggregator(mosquitto_url, task()):
        arguments = command(mosquitto_url, f"mqtt:@{tmp_path / 'home.toml'}", tmp_path, "--once")
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4
    assert "the task must say unit_records = 2" in done.stderr
