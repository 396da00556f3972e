"""Real processes and what is wrong on the wire between them: hostile messages, damaged bytes."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from paho.mqtt.client import MQTTMessage

from edge_agent.mqtt.connection import Connection
from fsir.limits import LIMITS
from fsir.net.broker import Broker
from fsir.wire.messages import topic
from tests.system.harness.one_hot import Federation
from tests.system.harness.proxy import Proxy, Weather
from tests.system.hostile.mutations import Mutator
from tests.system.processes.fleet import Processes

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]


def test_hostile_bytes_on_the_wire_stop_nobody(processes):
    """Agents refuse what is on the server's topics, the aggregator what is on those of others."""
    rng = random.Random(5)
    task = processes.federation.task()
    mutator = Mutator(rng, [task.encode()], 100_000)
    server = processes.aggregator()
    agent = processes.agent("device-1")
    processes.until(lambda: "report made" in agent.said(), "the agent makes no report")
    of_the_server = [topic(task.name, kind) for kind in ("active", "subspace")]
    of_a_stranger = topic(task.name, "report", "stranger")
    places = [*of_the_server, of_a_stranger]
    for _ in range(400):
        processes.listener_publishes(rng.choice(places), mutator.payload(), rng.random() < 0.5)
    processes.listener_publishes(of_a_stranger, bytes(LIMITS["report"] + 1))
    processes.listener_publishes(topic(task.name, "report", "another"), b"\x00")
    processes.until(
        lambda: "another" in receipts(processes), "the aggregator answers nobody any more"
    )
    assert server.poll() is None, server.said()
    assert agent.poll() is None, agent.said()
    server.kill()
    agent.kill()
    for place in of_the_server:
        processes.listener_publishes(place, b"", True)
    assert processes.finish() == []


def receipts(processes: Processes) -> set[str]:
    """Devices that have got a receipt."""
    devices: set[str] = set()
    where = topic("one-hot", "receipt", "+")

    def note(message: MQTTMessage) -> None:
        devices.add(message.topic.rpartition("/")[2])

    reader = Connection(Broker.parse(processes.url), "receipts", [where], note)
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        reader.step(time.monotonic())
        time.sleep(0.01)
    reader.close()
    return devices


@pytest.mark.skipif(shutil.which("openssl") is None, reason="NOT TESTED: openssl is not on PATH")
def test_bytes_that_change_on_their_way_are_noticed_by_tls(tmp_path, forkserver):
    """Any byte, both ways: the connection breaks, and is made again until all has passed."""
    certificate = tmp_path / "server.crt"
    key = tmp_path / "server.key"
    certify(certificate, key)
    port = free_port()
    lines = (f"listener {port} 127.0.0.1", f"certfile {certificate}", f"keyfile {key}")
    federation = Federation(devices=3, stock=4, records=4)
    processes = Processes(federation, tmp_path, forkserver, *lines)
    proxy = Proxy(port, random.Random(3))
    proxy.weather = Weather(corrupt=0.08)
    proxy.run()
    processes.options = ["--ca", str(certificate)]
    try:
        assert processes.finish(f"mqtts://127.0.0.1:{proxy.port}", ca=str(certificate)) == []
        assert proxy.damaged
    finally:
        processes.close()
        proxy.close()


def certify(certificate: Path, key: Path) -> None:
    """A certificate of this machine that is its own authority."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
