"""The HAProxy that we ship, with the addresses of a test in place of the machines'."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.deploy.tools import DEPLOY
from tests.needs import find, need
from tests.system.aggregator.daemons import listens, wait_for
from tests.system.harness.ports import HeldPorts

SHIPPED = DEPLOY / "cells" / "haproxy.cfg"


def adapted(port: int, cells: list[tuple[int, int]]) -> str:
    """The shipped file for cells of this machine, each with its broker's and its worker's port."""
    lines = SHIPPED.read_text().replace("bind :8883", f"bind 127.0.0.1:{port}").splitlines()
    kept = [line for line in lines if not line.strip().startswith("server ")]
    servers = [
        f"    server cell{i} 127.0.0.1:{broker} port {worker}"
        for i, (broker, worker) in enumerate(cells, 1)
    ]
    return "\n".join([*kept, *servers]) + "\n"


class ShippedProxy:
    """One process; `restart` keeps the port."""

    def __init__(self, directory: Path, cells: list[tuple[int, int]]) -> None:
        need("haproxy")
        self._held = HeldPorts(1)
        (self._port,) = self._held.numbers
        self._file = directory / "haproxy.cfg"
        self._log = directory / "haproxy.log"
        self._file.write_text(adapted(self._port, cells))
        self.url = f"mqtt://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [str(find("haproxy")), "-db", "-f", str(self._file)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(self._up, "haproxy")

    def _up(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        return listens(self._port)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def close(self) -> None:
        self.kill()
        self._held.close()

    def restart(self) -> None:
        self.kill()
        self.start()
