"""Ports of this machine: a free one, and whether a broker is in service on one."""

from __future__ import annotations

import socket

# CONNECT (3.1.1, clean session, no name) and DISCONNECT: a broker that answers it with CONNACK 0 is
# in service.
_CONNECT = b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x0a\x00\x00"
_CONNACK = b"\x20\x02\x00\x00"
_DISCONNECT = b"\xe0\x00"
_ANSWER_SECONDS = 2.0


def free_port() -> int:
    """A port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_taken(port: int) -> bool:
    """Whether somebody listens on this port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def in_service(port: int) -> bool:
    """Whether an MQTT broker on this port accepts a client: an open port alone is not yet one."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS) as probe:
            probe.sendall(_CONNECT)
            answer = probe.recv(len(_CONNACK))
            probe.sendall(_DISCONNECT)
            return answer == _CONNACK
    except OSError:
        return False
