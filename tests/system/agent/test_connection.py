"""The connection to a real broker: logins, versions, losses, and messages that nobody foresaw."""

from __future__ import annotations

import os
import pwd
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest

from edge_agent.mqtt.client import LARGEST_BYTES
from edge_agent.mqtt.connection import Connection
from fsir.errors import LoginRefusedError
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from tests.edge_agent.mqtt.connecting import QUICK, connect, drive
from tests.needs import find, need


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
    command = [sys.executable, "-m", "edge_agent", "run", "--broker", url, "--task", "t"]
    command += ["--device", "pi", "--source", f"jsonl:{tmp_path / 'data.jsonl'}"]
    command += ["--state", str(tmp_path / "state"), *more]
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


@pytest.mark.broker
def test_a_connection_that_is_cut_leaves_without_a_word_and_comes_back(mosquitto_url):
    """A will is sent only for a client that left without a good-bye."""
    watcher, seen = connect(mosquitto_url)
    drive(watcher, lambda: watcher.up)
    states: list[str] = []
    connection, _ = connect(
        mosquitto_url,
        will=lambda: ("t/will", b"gone"),
        on_up=lambda: states.append("up"),
        on_down=lambda: states.append("down"),
    )
    drive(connection, lambda: connection.up)
    connection.cut(time.monotonic())
    assert not connection.up
    assert connection.fileno() is None
    drive(watcher, lambda: seen == [b"gone"])
    drive(connection, lambda: connection.up)
    assert states == ["up", "down", "up"]
    connection.close()
    connection.cut(time.monotonic())  # there is nothing to lose
    watcher.close()


@pytest.mark.broker
def test_descriptors_beyond_those_that_select_knows(mosquitto_url):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    held = [os.dup(0) for _ in range(1100)]
    try:
        connection, seen = connect(mosquitto_url)
        drive(connection, lambda: connection.up)
        assert (connection.fileno() or 0) >= 1024
        connection.publish("t/1", b"hello")
        connection.close()  # waits for the broker's word
        connection, seen = connect(mosquitto_url)
        drive(connection, lambda: connection.up)
        connection.publish("t/2", b"hello again")
        drive(connection, lambda: seen == [b"hello again"])
        connection.close()
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
