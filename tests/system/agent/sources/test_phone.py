"""`fsir-agent run --source sensorlogger:...` as a process: a phone over MQTT and over HTTP."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import threading
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.motion import raw_task, recording, until
from tests.edge_agent.processes import command, end
from tests.edge_agent.sources.phone.phones import messages


def publish(url, sent, stop):
    """The phone: publishes its messages, as its owner walks on, until somebody has heard enough."""
    parts = urlsplit(url)
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.connect(parts.hostname, parts.port)
    client.loop_start()
    for message in sent:
        if stop.wait(0.02):
            break
        client.publish("home/phone", json.dumps(message), qos=0).wait_for_publish(10)
    stop.wait(120)
    client.disconnect()
    client.loop_stop()


def push(port, sent, stop):
    """The same over HTTP."""
    for message in sent:
        while not stop.wait(0.02):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            kind = {"Content-Type": "application/json"}
            try:
                connection.request("POST", "/data", json.dumps(message), kind)
                if connection.getresponse().status == 200:
                    break
            except OSError:
                continue  # not listening yet
            finally:
                connection.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.mark.broker
@pytest.mark.parametrize("way", ["mqtt", "http"])
def test_the_agent_serves_windows_of_a_phone(mosquitto_url, tmp_path, way):
    port = free_port()
    stop = threading.Event()
    served = []
    sent = messages(*recording(1800), batch=4.0)
    if way == "mqtt":
        address = "sensorlogger:mqtt:home/+"
        phone = threading.Thread(target=publish, args=(mosquitto_url, sent, stop), daemon=True)
    else:
        address = f"sensorlogger:http://127.0.0.1:{port}/data"
        phone = threading.Thread(target=push, args=(port, sent, stop), daemon=True)
    options = ("--acc-range", "8", "--gyro-range", "35", "--source-broker", mosquitto_url)
    with TinyAggregator(mosquitto_url, raw_task()) as server:
        server.emit()
        process = subprocess.Popen(
            command(mosquitto_url, address, tmp_path, *options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = threading.Thread(target=process.stderr.read, daemon=True)
        try:
            said.start()
            phone.start()
            threading.Thread(target=lambda: served.extend(process.stdout), daemon=True).start()
            until(lambda: len(served) >= 10, 120)
        finally:
            stop.set()
            process.terminate()
            process.wait(30)
            said.join(30)
            phone.join(30)
            end(process)
    records = [json.loads(line)["record"] for line in served]
    assert records == list(range(records[0], records[0] + len(records)))
    topics = [about for about, _ in server.seen]
    assert not [about for about in topics if about.startswith("fsir/") and "/report/" in about]
