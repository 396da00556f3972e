"""Everything that a device puts on the wire, captured byte by byte between it and the broker."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import threading
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from fsir.task.task import Task
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, command
from tests.edge_agent.world import data
from tests.fsir.tasks import screened, task

pytestmark = pytest.mark.broker
CONNECT, PUBLISH, PUBACK, SUBSCRIBE, PINGREQ, DISCONNECT = 1, 3, 4, 8, 12, 14


class Tap:
    """A TCP proxy in front of a broker that keeps what the device sends."""

    def __init__(self, url: str) -> None:
        self._broker = urlsplit(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"mqtt://127.0.0.1:{self._listener.getsockname()[1]}"
        self.sent = b""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        self._listener.settimeout(0.1)
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                device, _ = self._listener.accept()
                with (
                    device,
                    socket.create_connection((self._broker.hostname, self._broker.port)) as broker,
                ):
                    self._relay(device, broker)

    def _relay(self, device: socket.socket, broker: socket.socket) -> None:
        while not self._stop.is_set():
            for ready in select.select([device, broker], [], [], 0.1)[0]:
                chunk = ready.recv(65536)
                if not chunk:
                    return
                if ready is device:
                    self.sent += chunk
                (broker if ready is device else device).sendall(chunk)

    def packets(self) -> list[tuple[int, bytes]]:
        """Type and body of every MQTT packet of the device."""
        found, at = [], 0
        while at < len(self.sent):
            kind, length, shift, at = self.sent[at] >> 4, 0, 0, at + 1
            while True:
                length |= (self.sent[at] & 0x7F) << shift
                shift, at = shift + 7, at + 1
                if not self.sent[at - 1] & 0x80:
                    break
            found.append((kind, self.sent[at : at + length]))
            at += length
        return found


def write_csv(path: Path, of: Task, n: int, seed: int) -> Path:
    X, y = data(of, n, seed)
    lines = [",".join([*of.features.names, "y"])]
    lines += [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def sent_by(url: str, of: Task, folder: Path, n: int, seed: int) -> tuple[Tap, int]:
    folder.mkdir()
    source = write_csv(folder / "data.csv", of, n, seed)
    with Tap(url) as tap:
        done = subprocess.run(
            command(tap.url, f"csv:{source}", folder), capture_output=True, timeout=60
        )
    return tap, done.returncode


def test_before_the_report_not_a_byte_depends_on_the_data(mosquitto_url, tmp_path):
    of = task()
    with TinyAggregator(mosquitto_url, of):
        found = [sent_by(mosquitto_url, of, tmp_path / str(seed), 99, seed) for seed in (1, 2)]
    assert [code for _, code in found] == [
        3,
        3,
    ]  # the source ended before there were enough records
    (one, _), (two, _) = found
    assert one.sent == two.sent
    assert {kind for kind, _ in one.packets()} == {CONNECT, SUBSCRIBE, PUBACK, DISCONNECT}


@pytest.mark.parametrize("rule", [None, "same"])
def test_nothing_but_reports_is_ever_published(mosquitto_url, tmp_path, rule):
    of = task() if rule is None else screened(records=rule)
    with TinyAggregator(mosquitto_url, of, active=() if rule is None else ("x1", "x4")):
        tap, code = sent_by(mosquitto_url, of, tmp_path / "run", 150, 1)
    assert code == 0
    packets = tap.packets()
    assert {kind for kind, _ in packets} <= {
        CONNECT,
        PUBLISH,
        PUBACK,
        SUBSCRIBE,
        PINGREQ,
        DISCONNECT,
    }
    topics = [
        body[2 : 2 + int.from_bytes(body[:2], "big")].decode()
        for kind, body in packets
        if kind == PUBLISH
    ]
    assert set(topics) == {f"fsir/1/test/report/{DEVICE}"}
    values = {repr(float(value)).encode() for value in np.ravel(data(of, 150, 1)[0])}
    assert not any(value in tap.sent for value in values if len(value) > 8)
