"""The connection where nobody answers, or what answers is no broker."""

from __future__ import annotations

import logging
import socket
import time

import pytest

from edge_agent.cli import main
from edge_agent.mqtt.client import MQTT_3, Greeting
from tests.edge_agent.mqtt.connecting import connect, drive


def test_mistakes_name_the_options_of_the_broker_that_they_are_about(tmp_path, capsys):
    (tmp_path / "x.jsonl").touch()
    run = [
        "run",
        "--broker",
        "mqtt://127.0.0.1:9",
        "--task",
        "t",
        "--device",
        "d",
        "--state",
        str(tmp_path / "s"),
    ]
    for source, flag in (
        (
            "mqtts://127.0.0.1:9",
            "--source-ca nowhere.pem: No such file or directory; give a PEM file",
        ),
        (
            "mqtts://me:secret@127.0.0.1:9",
            "use --source-password-file or the variable FSIR_SOURCE_PA",
        ),
    ):
        labels = ["--labels", "topic:a", "--source-broker", source, "--source-ca", "nowhere.pem"]
        assert main([*run, "--source", "mqtt:a", *labels]) == 2
        assert flag in capsys.readouterr().err


def test_nobody_there_is_tried_again_later(caplog):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        connection, _ = connect(f"mqtt://127.0.0.1:{free.getsockname()[1]}")
        with caplog.at_level(logging.INFO):
            connection.step(0.0)
            assert connection.fileno() is None
            assert 0.0 < connection.next_due(0.0) < 0.1
            connection.step(0.0)  # not yet due
            connection.step(10.0)
    assert caplog.text.count("next attempt") == 2


def test_a_broker_that_accepts_and_then_says_nothing():
    """Half-open: the connection stands, no word comes. It is given up and tried again."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        connection, _ = connect(f"mqtt://127.0.0.1:{deaf.getsockname()[1]}")
        start = time.monotonic()
        connection.step(start)
        assert connection.fileno() is not None
        connection.step(start + 4.0)
        assert connection.fileno() is None
        connection.step(start + 4.0)  # at once in the older version
        assert connection.fileno() is not None
        connection.close()


@pytest.mark.parametrize(
    "garbage",
    [b"\x20\x03\x00\x00", b"\xf0\xff\xff\xff\xff\xff", b"\x30\x02\x00\xff", b"HTTP/1.1 400\r\n"],
)
def test_bytes_that_are_not_mqtt_end_the_connection_only(garbage):
    with socket.create_server(("127.0.0.1", 0)) as rude:
        connection, _ = connect(f"mqtt://127.0.0.1:{rude.getsockname()[1]}")
        connection.step(time.monotonic())
        answer, _ = rude.accept()
        answer.sendall(garbage)
        answer.close()
        drive(connection, lambda: connection.fileno() is None or connection.next_due(0.0) > 0.0)
        connection.close()


def test_a_fleet_may_greet_in_the_older_version_alone_and_wait_longer():
    greeting = Greeting(versions=(MQTT_3,), keepalive_seconds=600, welcome_seconds=60.0)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        connection, _ = connect(f"mqtt://127.0.0.1:{deaf.getsockname()[1]}", greeting=greeting)
        start = time.monotonic()
        connection.step(start)
        client, _ = deaf.accept()
        connect_packet = client.recv(100)
        assert connect_packet[2:9] == b"\x00\x04MQTT\x04"  # level 4 is version 3.1.1
        assert connect_packet[10:12] == (600).to_bytes(2, "big")
        connection.step(start + 59.0)
        assert connection.fileno() is not None
        connection.step(start + 60.0)
        assert connection.fileno() is None
        assert connection.next_due(start + 60.0) > start + 60.0
        client.close()
        connection.close()


def test_what_happens_is_told_to_the_logger_that_was_given(caplog):
    quiet = logging.getLogger("fsir.test.quiet")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        connection, _ = connect(f"mqtt://127.0.0.1:{free.getsockname()[1]}", logger=quiet)
        connection.step(0.0)
    assert {record.name for record in caplog.records} == {"fsir.test.quiet"}
