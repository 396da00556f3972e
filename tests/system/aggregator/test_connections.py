"""Brokers of all kinds: slow, small, dead, encrypted, closed to us, or none at all."""

from __future__ import annotations

import logging
import os
import pwd
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from fsir.errors import LoginRefusedError
from sim_devices.network.broker import LocalBroker
from tests.needs import need
from tests.system.aggregator.daemons import (
    Devices,
    Serving,
    plain_mosquitto,
    wait_for,
)
from tests.system.aggregator.fleets import TASK, check, reports


def test_the_embedded_broker_will_do(embedded_url: str, tmp_path: Path) -> None:
    sent = reports(10)
    # It speaks 3.1.1 only, and says nothing to version 5.
    with Serving(embedded_url, tmp_path / "s.db", TASK):
        devices = Devices(embedded_url, TASK)
        devices.send(sent)
        devices.wait(sent)
        devices.close()
    check(tmp_path / "s.db", 10)


@pytest.mark.broker
def test_a_broker_that_dies_is_found_again_and_told_everything(
    mosquitto: LocalBroker, tmp_path: Path
) -> None:
    sent = reports(20)
    with Serving(mosquitto.url, tmp_path / "s.db", TASK) as serving:
        devices = Devices(mosquitto.url, TASK)
        devices.send({name: sent[name] for name in list(sent)[:10]})
        devices.wait({name: sent[name] for name in list(sent)[:10]})
        wait_for(lambda: "subspace" in devices.retained, "the subspace")
        mosquitto.kill()  # and forgets all that it has not saved: that is, everything
        wait_for(lambda: not serving.healthy, "the loss to be noticed")
        mosquitto.restart()
        wait_for(lambda: serving.healthy, "the new connection")
        late = Devices(mosquitto.url, TASK)
        wait_for(lambda: {"task", "subspace"} <= set(late.retained), "the retained messages")
        late.send(sent)
        late.wait(sent)
        late.close()
        devices.close()
    check(tmp_path / "s.db", 20)


@pytest.mark.broker
@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_broker_with_a_small_window_does_not_stall_us(tmp_path: Path, version: str) -> None:
    sent = reports(150)
    # As Debian ships it: 20 messages in flight. Half a batch must not wait for the other half.
    with plain_mosquitto() as url, Serving(url, tmp_path / "s.db", TASK, version=version):
        devices = Devices(url, TASK)
        devices.send(sent)
        devices.wait(sent)
        devices.close()
    check(tmp_path / "s.db", 150)


@pytest.mark.broker
def test_a_refused_login_is_final_and_says_what_to_check(tmp_path: Path) -> None:
    with plain_mosquitto("allow_anonymous false") as url:
        serving = Serving(url, tmp_path / "s.db", TASK, connect=False)
        with serving:
            wait_for(lambda: serving.error, "the refusal")
        assert isinstance(serving.error, LoginRefusedError)
        assert "check user name, password" in str(serving.error)


@pytest.mark.broker
@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_the_same_over_tls(tmp_path: Path, version: str) -> None:
    need("openssl")
    key = tmp_path / "key.pem"
    certificate = tmp_path / "cert.pem"
    request = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
    command = [*request.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    # Started by root mosquitto would become somebody who cannot read the key.
    user = pwd.getpwuid(os.getuid()).pw_name
    config = f"allow_anonymous true\nuser {user}\ncertfile {certificate}\nkeyfile {key}\n"
    sent = reports(200)
    with plain_mosquitto(config) as url:
        url = url.replace("mqtt:", "mqtts:")
        with Serving(url, tmp_path / "s.db", TASK, version=version, ca=str(certificate)):
            devices = Devices(url, TASK, ca=str(certificate))
            devices.send(sent)
            devices.wait(sent)
            devices.close()
    check(tmp_path / "s.db", 200)


def test_without_a_broker_it_waits_and_stops_when_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING),
        Serving("mqtt://127.0.0.1:9", tmp_path / "s.db", TASK, connect=False) as serving,
    ):
        wait_for(lambda: "refused" in caplog.text, "a warning")
        assert not serving.healthy
    assert threading.active_count() < 20


@pytest.mark.broker
def test_garbage_on_the_wire_is_a_lost_connection_and_nothing_more(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"mqtt://127.0.0.1:{server.getsockname()[1]}"
        with Serving(url, tmp_path / "s.db", TASK, connect=False) as serving:
            for _ in range(3):
                peer, _ = server.accept()
                with peer:
                    peer.recv(1000)
                    peer.sendall(b"\x20\x02\x00\x00" + b"\x32\x05\x00\xffxyz" + bytes(range(256)))
            assert serving.error is None
