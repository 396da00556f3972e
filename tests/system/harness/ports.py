"""Ports of this machine that belong to one test."""

from __future__ import annotations

import socket


class HeldPorts:
    """Ports that a program may listen on, and that the system gives to nobody else meanwhile.

    A socket that is bound and does not listen shares its port with whoever says SO_REUSEADDR, as
    servers do; between looking for a free port and listening on it nobody can come first.
    """

    def __init__(self, count: int) -> None:
        self._held = [socket.socket() for _ in range(count)]
        for each in self._held:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        self.numbers = [int(each.getsockname()[1]) for each in self._held]

    def close(self) -> None:
        """Let them go."""
        for each in self._held:
            each.close()
