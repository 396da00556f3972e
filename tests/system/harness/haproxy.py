"""HAProxy before the brokers of a cell: whoever loses one is led to another."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from tests.needs import find, need
from tests.system.harness.ports import HeldPorts

PATIENCE_SECONDS = 30.0
_CONFIG = """\
defaults
    mode tcp
    timeout connect 2s
    timeout client 10m
    timeout server 10m
    option redispatch
listen mqtt
    bind 127.0.0.1:{port}
    balance roundrobin
    default-server check inter 500ms fall 1 rise 2 on-marked-down shutdown-sessions
{servers}
"""


class HaProxy:
    """One process, for the length of a `with` block."""

    def __init__(self, directory: Path, ports: list[int]) -> None:
        need("haproxy")
        self._file = directory / "haproxy.cfg"
        self._held = HeldPorts(1)
        (self._port,) = self._held.numbers
        lines = [f"    server node{i} 127.0.0.1:{port}" for i, port in enumerate(ports)]
        self._file.write_text(_CONFIG.format(port=self._port, servers="\n".join(lines)))
        self.url = f"mqtt://127.0.0.1:{self._port}"

    def __enter__(self) -> HaProxy:
        command = [str(find("haproxy")), "-db", "-f", str(self._file)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1.0).close()
                return self
            except OSError:
                assert time.monotonic() < deadline, "haproxy does not listen"
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(10)
        self._held.close()
