"""The connection: addresses, logins, brokers of every age, and messages that nobody foresaw."""

from __future__ import annotations

import logging
import os
import pwd
import socket
import subprocess
import sys
import time
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest

from edge_agent.cli import main
from edge_agent.mqtt.client import LARGEST_BYTES
from edge_agent.mqtt.connection import Connection
from fsir.errors import ConnectionSettingsError, LoginRefusedError
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from tests.needs import find, need

QUICK = Delays(first=0.05, longest=0.2)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("mqtt://host", ("host", 1883, False, None)),
        ("mqtts://host", ("host", 8883, True, None)),
        ("mqtt://pi@host:99", ("host", 99, False, "pi")),
        ("mqtt://[::1]:1884/", ("::1", 1884, False, None)),
    ],
)
def test_addresses(url, found):
    broker = Broker.parse(url)
    assert (broker.host, broker.port, broker.tls, broker.username) == found


@pytest.mark.parametrize(
    "url",
    [
        "host:1883",
        "http://host",
        "mqtt://",
        "mqtt://host:port",
        "mqtt://host:99999",
        "mqtt://host/topic",
        "",
    ],
)
def test_mistakes_in_addresses_are_named(url):
    with pytest.raises(ConnectionSettingsError, match="broker address"):
        Broker.parse(url)


def test_a_password_does_not_belong_into_an_address_nor_into_any_text():
    with pytest.raises(ConnectionSettingsError, match="password-file") as caught:
        Broker.parse("mqtt://pi:hunter2@host")
    assert "hunter2" not in str(caught.value)
    broker = Broker.parse("mqtt://host", username="pi", password="hunter2")
    assert "hunter2" not in f"{broker} {broker!r}"


def test_certificates_need_encryption_and_must_exist():
    with pytest.raises(ConnectionSettingsError, match="mqtts"):
        Broker.parse("mqtt://host", ca="ca.pem")
    with pytest.raises(ConnectionSettingsError, match="--ca"):
        Broker.parse("mqtts://host", ca="nowhere.pem").context()


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
        ("mqtts://127.0.0.1:9", "check --source-ca (a PEM file)"),
        (
            "mqtts://me:secret@127.0.0.1:9",
            "use --source-password-file or the variable FSIR_SOURCE_PA",
        ),
    ):
        labels = ["--labels", "topic:a", "--source-broker", source, "--source-ca", "nowhere.pem"]
        assert main([*run, "--source", "mqtt:a", *labels]) == 2
        assert flag in capsys.readouterr().err


def drive(connection: Connection, condition, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        connection.step(time.monotonic())
        time.sleep(0.005)


def connect(url: str, **options) -> tuple[Connection, list[bytes]]:
    seen: list[bytes] = []
    take = options.pop("take", lambda message: seen.append(bytes(message.payload)))
    return Connection(
        Broker.parse(url), f"test-{os.urandom(4).hex()}", ["t/#"], take, delays=QUICK, **options
    ), seen


@pytest.mark.broker
def test_it_comes_back_after_the_broker_was_away(mosquitto):
    ups: list[str] = []
    connection, seen = connect(
        mosquitto.url, on_up=lambda: ups.append("up"), on_down=lambda: ups.append("down")
    )
    drive(connection, lambda: connection.up)
    mosquitto.kill()
    drive(connection, lambda: not connection.up)
    mosquitto.restart()
    drive(connection, lambda: connection.up)
    connection.publish("t/1", b"hello")
    drive(connection, lambda: seen == [b"hello"])
    assert ups == ["up", "down", "up"]
    connection.close()


def test_a_broker_that_speaks_only_the_older_version(embedded_url):
    connection, seen = connect(embedded_url)
    drive(connection, lambda: connection.up)
    connection.publish("t/1", b"hello")
    drive(connection, lambda: seen == [b"hello"])
    connection.close()


@pytest.mark.broker
def test_a_message_that_breaks_its_reader_does_not_break_the_connection(mosquitto_url, caplog):
    seen: list[bytes] = []

    def fragile(message):
        if message.payload == b"bad":
            raise RuntimeError("nobody foresaw this")
        seen.append(message.payload)

    connection, _ = connect(mosquitto_url, take=fragile)
    drive(connection, lambda: connection.up)
    for payload in (b"bad", b"good"):
        connection.publish("t/1", payload)
    drive(connection, lambda: seen == [b"good"])
    assert "nobody foresaw this" in caplog.text
    connection.close()


@pytest.mark.broker
def test_a_message_that_is_too_large_never_reaches_the_device(mosquitto_url):
    sender = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    sender.connect("127.0.0.1", int(mosquitto_url.rpartition(":")[2]))
    sender.loop_start()
    sender.publish("t/huge", bytes(100 * 2**20), 1, retain=True).wait_for_publish(30)
    sender.publish("t/small", b"small", 1, retain=True).wait_for_publish(30)
    connection, seen = connect(mosquitto_url)
    drive(connection, lambda: bool(seen))
    drive(connection, lambda: True)
    assert seen == [b"small"]
    assert LARGEST_BYTES < 20 * 2**20
    connection.close()
    sender.disconnect()
    sender.loop_stop()


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


@pytest.fixture
def locked_broker(tmp_path):
    """A mosquitto that wants a password."""
    need("mosquitto")
    program = find("mosquitto")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = pwd.getpwuid(os.getuid()).pw_name
    (tmp_path / "passwords").write_text("pi:secret\n")
    subprocess.run(["mosquitto_passwd", "-U", str(tmp_path / "passwords")], check=True)
    config = tmp_path / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\npassword_file {tmp_path / 'passwords'}\nuser {user}\n"
    )
    process = subprocess.Popen([program, "-c", str(config)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    yield f"mqtt://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


@pytest.mark.broker
def test_a_refused_login_is_final_and_clear(locked_broker, tmp_path):
    broker = Broker.parse(locked_broker, username="pi", password="wrong-horse")
    connection = Connection(broker, "test", ["t/#"], lambda message: None, delays=QUICK)
    with pytest.raises(LoginRefusedError, match="refuses") as caught:
        drive(connection, lambda: False)
    assert "wrong-horse" not in str(caught.value)
    connection.close()
    good = Connection(
        Broker.parse(locked_broker, username="pi", password="secret"),
        "test",
        ["t/#"],
        lambda message: None,
    )
    drive(good, lambda: good.up)
    good.close()


@pytest.mark.broker
def test_the_command_stops_on_a_refused_login(locked_broker, tmp_path):
    (tmp_path / "data.jsonl").write_text("{}\n")
    (tmp_path / "password").write_text("wrong-horse\n")
    done = run_agent(
        locked_broker, tmp_path, "--username", "pi", "--password-file", str(tmp_path / "password")
    )
    assert done.returncode == 2
    assert "refuses" in done.stderr
    assert "wrong-horse" not in done.stderr


def run_agent(url: str, tmp_path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "edge_agent",
        "run",
        "--broker",
        url,
        "--task",
        "t",
        "--device",
        "pi",
    ]
    command += [
        "--source",
        f"jsonl:{tmp_path / 'data.jsonl'}",
        "--state",
        str(tmp_path / "state"),
        *more,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.broker
def test_two_devices_of_the_same_name_do_not_throw_each_other_out_forever(mosquitto_url, caplog):
    twins = [
        Connection(
            Broker.parse(mosquitto_url),
            "twin",
            ["t/#"],
            lambda message: None,
            delays=Delays(0.02, 5.0),
        )
        for _ in range(2)
    ]
    deadline = time.monotonic() + 30.0
    while "does this device run twice" not in caplog.text:
        assert time.monotonic() < deadline
        for twin in twins:
            twin.step(time.monotonic())
        time.sleep(0.005)
    assert max(twin._attempts.count for twin in twins) >= 2  # the delays grow
    for twin in twins:
        twin.close()


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
