"""nats-server as an MQTT broker: alone, or several nodes that are one."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from tests.needs import find, need
from tests.system.harness.ports import HeldPorts

PATIENCE_SECONDS = 60.0


class Nats:
    """Some nodes, each a process of its own, for the length of a `with` block."""

    def __init__(self, directory: Path, nodes: int = 1) -> None:
        need("nats-server")
        self._directory = directory
        self._held = HeldPorts(3 * nodes)
        ports = self._held.numbers
        self._clients = ports[:nodes]
        self._routes = ports[nodes : 2 * nodes]
        self.ports = ports[2 * nodes :]  # for MQTT
        self._nodes: list[subprocess.Popen[bytes]] = []

    @property
    def urls(self) -> list[str]:
        """Where each node speaks MQTT."""
        return [f"mqtt://127.0.0.1:{port}" for port in self.ports]

    def _config(self, node: int) -> str:
        lines = [
            f"server_name: node{node}",
            f'listen: "127.0.0.1:{self._clients[node]}"',
            f'jetstream {{ store_dir: "{self._directory}/js{node}" }}',
            f'mqtt {{ listen: "127.0.0.1:{self.ports[node]}" }}',
        ]
        if len(self.ports) > 1:
            routes = ", ".join(f"nats://127.0.0.1:{port}" for port in self._routes)
            listen = f'listen: "127.0.0.1:{self._routes[node]}"'
            lines.append(f"cluster {{ name: cell, {listen}, routes: [{routes}] }}")
        return "\n".join(lines) + "\n"

    def __enter__(self) -> Nats:
        program = str(find("nats-server"))
        for node in range(len(self.ports)):
            config = self._directory / f"node{node}.conf"
            config.write_text(self._config(node))
            command = [program, "-c", str(config), "-l", str(self._directory / f"node{node}.log")]
            self._nodes.append(subprocess.Popen(command))
        for port in self.ports:
            self._wait_for(port)
        return self

    def _wait_for(self, port: int) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), 1.0):
                    return
            except OSError:
                assert time.monotonic() < deadline, "nats-server does not listen"
                time.sleep(0.05)

    def kill(self, node: int) -> None:
        """End a node without a word."""
        self._nodes[node].kill()
        self._nodes[node].wait(10)

    def __exit__(self, *_: object) -> None:
        for node in range(len(self._nodes)):
            self.kill(node)
        self._held.close()
