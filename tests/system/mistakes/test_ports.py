"""Both programs at the wrong port, or with the wrong name or authority: what they say of it."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from sim_devices.network.probe import free_port, in_service
from tests.edge_agent.processes import end, wait_for_line
from tests.needs import find, need
from tests.pem import Pem
from tests.system.mistakes.said import ROOT

pytestmark = pytest.mark.broker
EXAMPLE = ROOT / "deploy" / "example" / "task.toml"


class Ports(NamedTuple):
    plain: int
    tls: int
    web: int
    pem: Pem


@contextmanager
def _web() -> Iterator[int]:
    class Silent(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """A mosquitto with a plain and an encrypted listener, and a web server."""
    need("mosquitto")
    folder = tmp_path_factory.mktemp("ports")
    pem = Pem(folder)
    certificate, key = pem.issue("broker", hosts="DNS:localhost")
    plain = free_port()
    tls = free_port()
    user = pwd.getpwuid(os.getuid()).pw_name
    (folder / "mosquitto.conf").write_text(
        f"user {user}\nper_listener_settings true\n"
        f"listener {plain} 127.0.0.1\nallow_anonymous true\n"
        f"listener {tls} 127.0.0.1\nallow_anonymous true\n"
        f"certfile {certificate}\nkeyfile {key}\n"
    )
    command = [find("mosquitto") or "mosquitto", "-c", str(folder / "mosquitto.conf")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not in_service(plain):
            assert process.poll() is None
        with _web() as web:
            yield Ports(plain, tls, web, pem)
    finally:
        process.terminate()
        process.wait(10)


def programs(url: str, folder: Path, *login: str) -> dict[str, list[str]]:
    """Both programs that talk to a broker."""
    (folder / "readings.csv").write_text("a,activity\n")
    agent = ["--task", "t", "--device", "d", "--source", f"csv:{folder / 'readings.csv'}"]
    agent += ["--state", str(folder / "state")]
    server = ["--task", str(EXAMPLE), "--store", f"sqlite:{folder / 'reports.db'}"]
    broker = ["--broker", url, *login]
    return {
        "agent": [sys.executable, "-m", "edge_agent", "run", *agent, *broker],
        "aggregator": [sys.executable, "-m", "aggregator", "serve", *server, *broker],
    }


@pytest.mark.parametrize("program", ["agent", "aggregator"])
@pytest.mark.parametrize(
    ("url", "authority", "words"),
    [
        ("mqtt://localhost:{tls}", "", "this port speaks TLS: use mqtts://"),
        (
            "mqtts://localhost:{plain}",
            "ca",
            "this port does not speak TLS. Give the port that does (often 8883); or use mqtt://",
        ),
        (
            "mqtt://localhost:{web}",
            "",
            "a web server answers at this port, and no MQTT broker; check the port (MQTT has 1883, "
            "with TLS 8883)",
        ),
        (
            "mqtts://127.0.0.1:{tls}",
            "ca",
            "we do not accept the broker's certificate: it is for localhost, not for 127.0.0.1. "
            "Give the name in it with --broker",
        ),
        (
            "mqtts://localhost:{tls}",
            "other",
            "we do not accept the broker's certificate: it is not from the authority of --ca ",
        ),
        (
            "mqtts://localhost:{tls}",
            "",
            "we do not accept the broker's certificate: it is not from an authority that this "
            "machine knows. Give the certificate of the one that signed it with --ca",
        ),
    ],
)
def test_what_a_person_reads(
    ports: Ports, program: str, url: str, authority: str, words: str, tmp_path: Path
) -> None:
    address = url.format(**ports._asdict())
    login = []
    if authority:
        ca = ports.pem.ca if authority == "ca" else Pem(tmp_path, authority).ca
        login = ["--ca", str(ca)]
    command = programs(address, tmp_path, *login)[program]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        said = wait_for_line(process, words)
    finally:
        end(process)
    assert f"{address}: {words}" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("program", ["agent", "aggregator"])
def test_a_wrong_file_ends_the_program_before_anybody_is_called(
    program: str, tmp_path: Path
) -> None:
    pem = Pem(tmp_path)
    certificate, _ = pem.issue("one")
    _, key = pem.issue("two")
    login = ("--ca", str(pem.ca), "--cert", str(certificate), "--key", str(key))
    command = programs("mqtts://localhost:9", tmp_path, *login)[program]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    said = done.stderr.splitlines()[-1]
    assert said == (
        f"fsir-{program}: --key {key}: it is not the key of --cert {certificate}; "
        "give the two that were made together"
    )
