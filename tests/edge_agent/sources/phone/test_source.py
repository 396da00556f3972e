"""`sensorlogger:`: phones over MQTT and HTTP, up to the agent that serves their windows."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from contextlib import closing
from types import SimpleNamespace
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from edge_agent.cli import main
from edge_agent.errors import SourceError
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.phone.session import LARGEST
from fsir.net.broker import Broker
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.motion import OPTIONS, raw_task, recording, until
from tests.edge_agent.phones import messages
from tests.edge_agent.processes import command, end
from tests.edge_agent.sources.phone.test_http import request, talk


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("sensorlogger:somewhere", "write sensorlogger:mqtt:TOPIC"),
        ("sensorlogger:http://127.0.0.1/data", "write http://HOST:PORT/PATH"),
        ("sensorlogger:http://:8000/data", "write http://HOST:PORT/PATH"),
        ("sensorlogger:http://127.0.0.1:99999/", "Port out of range"),
        ("sensorlogger:https://127.0.0.1:8000/data", "MQTT over TLS"),
        ("sensorlogger:http://192.0.2.1:8000/data", "cannot listen there"),
        ("sensorlogger:mqtt:a/#/b", "not a valid topic filter"),
        ("sensorlogger:mqtt:", "not a valid topic filter"),
    ],
)
def test_mistakes_are_named(address, reason):
    with pytest.raises(SourceError, match=reason):
        open_source(address, Options(acc_range=8.0, gyro_range=35.0, broker=Broker("127.0.0.1", 9)))


def test_the_full_scale_of_a_phone_must_be_given():
    for address in ("sensorlogger:mqtt:phone", "sensorlogger:http://127.0.0.1:8000/data"):
        with pytest.raises(SourceError, match="--acc-range"):
            open_source(address, Options(broker=Broker("127.0.0.1", 9)))
    with pytest.raises(SourceError, match="--source-broker"):
        open_source("sensorlogger:mqtt:phone", OPTIONS)


def test_a_mistyped_path_is_in_the_log_of_the_source(caplog):
    with closing(open_source("sensorlogger:http://127.0.0.1:0/data", OPTIONS)) as source:
        assert b" 404 " in talk(source._reader._transport, request(path="/date"))
        assert source.poll(1) == []
    assert "sensorlogger:http://127.0.0.1:0/data: 1 requests refused" in caplog.text
    assert "the last one for '/date'; the app must push to '/data'" in caplog.text


def test_a_message_over_mqtt_that_is_too_large_is_dropped_for_that_reason(caplog):
    options = Options(acc_range=8.0, gyro_range=35.0, broker=Broker("127.0.0.1", 9))
    with closing(open_source("sensorlogger:mqtt:phone", options)) as source:
        large = SimpleNamespace(
            retain=False, dup=False, payload=b'{"payload": []}' + b" " * LARGEST
        )
        source._reader._transport._message(large)
    assert "send smaller batches" in caplog.text
    assert "not JSON" not in caplog.text


def publish(url, sent, stop):
    """The phone: publishes its messages over and over, as its owner walks on, until somebody has heard enough."""
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
    import http.client

    for message in sent:
        while not stop.wait(0.02):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.request(
                    "POST", "/data", json.dumps(message), {"Content-Type": "application/json"}
                )
                if connection.getresponse().status == 200:
                    break
            except OSError:
                continue  # not listening yet
            finally:
                connection.close()


@pytest.mark.broker
@pytest.mark.parametrize("way", ["mqtt", "http"])
def test_the_agent_serves_windows_of_a_phone(mosquitto_url, tmp_path, way):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    address = (
        "sensorlogger:mqtt:home/+"
        if way == "mqtt"
        else f"sensorlogger:http://127.0.0.1:{port}/data"
    )
    stop, served = threading.Event(), []
    sent = messages(*recording(1800), batch=4.0)
    with TinyAggregator(mosquitto_url, raw_task()) as server:
        server.emit()
        options = ("--acc-range", "8", "--gyro-range", "35", "--source-broker", mosquitto_url)
        process = subprocess.Popen(
            command(mosquitto_url, address, tmp_path, *options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        arguments = (mosquitto_url, sent, stop) if way == "mqtt" else (port, sent, stop)
        phone = threading.Thread(
            target=publish if way == "mqtt" else push, args=arguments, daemon=True
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
    found = [json.loads(line)["record"] for line in served]
    assert found == list(range(found[0], found[0] + len(found)))
    assert not [
        about for about, _ in server.seen if about.startswith("fsir/") and "/report/" in about
    ]


def test_signals_are_not_looked_for_on_the_federations_broker(tmp_path, capsys):
    arguments = [
        "run",
        "--broker",
        "mqtt://127.0.0.1:1",
        "--task",
        "t",
        "--device",
        "d",
        "--state",
        str(tmp_path),
    ]
    assert (
        main(
            [
                *arguments,
                "--source",
                "sensorlogger:mqtt:phone",
                "--acc-range",
                "8",
                "--gyro-range",
                "35",
            ]
        )
        == 2
    )
    assert "--source-broker" in capsys.readouterr().err
