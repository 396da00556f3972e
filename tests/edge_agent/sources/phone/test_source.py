"""`sensorlogger:`: phones over MQTT and HTTP, and what its owner may get wrong."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import pytest

from edge_agent.cli import main
from edge_agent.errors import SourceError
from edge_agent.records import START
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.phone.session import LARGEST_BYTES
from fsir.net.broker import Broker
from tests.edge_agent.motion import OPTIONS
from tests.edge_agent.sources.phone.requests import request, talk


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
        with pytest.raises(ConnectionRefusedError):  # nobody listens before the task is known
            talk(source._reader._transport, request())
        source.resume(START)
        assert b" 404 " in talk(source._reader._transport, request(path="/date"))
        assert source.poll(1) == []
    assert "sensorlogger:http://127.0.0.1:0/data: 1 requests refused" in caplog.text
    assert "the last one for '/date'; the app must push to '/data'" in caplog.text


def test_a_message_over_mqtt_that_is_too_large_is_dropped_for_that_reason(caplog):
    options = Options(acc_range=8.0, gyro_range=35.0, broker=Broker("127.0.0.1", 9))
    with closing(open_source("sensorlogger:mqtt:phone", options)) as source:
        payload = b'{"payload": []}' + b" " * LARGEST_BYTES
        large = SimpleNamespace(retain=False, dup=False, payload=payload)
        source._reader._transport.subscription.receive(large)
    assert "send smaller batches" in caplog.text
    assert "not JSON" not in caplog.text


def test_signals_are_not_looked_for_on_the_federations_broker(tmp_path, capsys):
    federation = ["--broker", "mqtt://127.0.0.1:1", "--task", "t", "--device", "d"]
    phone = ["--source", "sensorlogger:mqtt:phone", "--acc-range", "8", "--gyro-range", "35"]
    assert main(["run", *federation, *phone, "--state", str(tmp_path)]) == 2
    assert "--source-broker" in capsys.readouterr().err
