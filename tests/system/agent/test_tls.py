"""mqtts:// with an authority of one's own, and a device that shows its certificate."""

from __future__ import annotations

import gc
import os
import pwd
import socket
import subprocess
import time
from pathlib import Path

import pytest

from edge_agent.mqtt.connection import Connection
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from tests.needs import find, need

pytestmark = pytest.mark.broker


def openssl(folder: Path, *command: str) -> None:
    subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)


def issue(folder: Path, name: str, common_name: str) -> None:
    """A key, and a certificate that the authority `ca` has signed."""
    (folder / f"{name}.ext").write_text("subjectAltName=IP:127.0.0.1\n")
    new_key = ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key"]
    openssl(folder, "req", *new_key, "-out", f"{name}.csr", "-subj", f"/CN={common_name}")
    signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"]
    files = ["-in", f"{name}.csr", "-extfile", f"{name}.ext", "-out", f"{name}.crt"]
    openssl(folder, "x509", "-req", *signed, *files)


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    """A mosquitto that speaks TLS only, and admits only who has a certificate of its authority."""
    need("mosquitto", "openssl")
    program = find("mosquitto")
    folder = tmp_path_factory.mktemp("tls")
    for authority in ("ca", "other"):
        new_key = ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{authority}.key"]
        named = ["-days", "2", "-subj", f"/CN={authority}", "-out", f"{authority}.crt"]
        openssl(folder, "req", "-x509", *new_key, *named)
    issue(folder, "server", "broker")
    issue(folder, "device", "pi-7")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = pwd.getpwuid(os.getuid()).pw_name
    (folder / "mosquitto.conf").write_text(
        f"listener {port} 127.0.0.1\ncafile {folder}/ca.crt\n"
        f"certfile {folder}/server.crt\nkeyfile {folder}/server.key\n"
        f"require_certificate true\nuse_identity_as_username true\nuser {user}\n"
    )
    process = subprocess.Popen(
        [program, "-c", str(folder / "mosquitto.conf")], stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 30
    while not answers(port):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield folder, f"mqtts://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


def connection(secured, **login: str) -> tuple[Connection, list[bytes]]:
    folder, url = secured
    seen: list[bytes] = []
    broker = Broker.parse(url, **{name: str(folder / file) for name, file in login.items()})
    link = Connection(
        broker,
        "pi-7",
        ["t/#"],
        lambda message: seen.append(bytes(message.payload)),
        delays=Delays(0.1, 0.1),
    )
    return link, seen


def step_until(link: Connection, condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        link.step(time.monotonic())
        time.sleep(0.005)
    return condition()


def test_a_device_with_its_certificate_gets_in(secured):
    link, seen = connection(secured, ca="ca.crt", certificate="device.crt", key="device.key")
    assert step_until(link, lambda: link.up, 20)
    for k in range(50):  # several arrive in one encrypted record: none may be left in the buffer
        link.publish("t/1", str(k).encode() * 100)
    assert step_until(link, lambda: len(seen) == 50, 20)
    link.close()


# The client library leaves a socket to the garbage collector when a handshake fails.
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize(
    "login",
    [{"ca": "ca.crt"}, {"ca": "other.crt", "certificate": "device.crt", "key": "device.key"}],
)
def test_without_certificate_or_with_a_wrong_authority_it_does_not(secured, login):
    link, _ = connection(secured, **login)
    assert not step_until(link, lambda: link.up, 2)
    link.close()
    gc.collect()
