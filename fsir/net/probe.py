"""What speaks at a port, where the one who should speak does not.

A broker that expects TLS hangs up on who speaks without, and the other way round; neither says why.
So somebody who was hung up on asks once more, in the other way.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

SECONDS = 2.0  # for each question: a service that is meant to be used answers at once
AGAIN_SECONDS = 600.0  # until the same port is asked again: thousands of devices may wonder
# CONNECT of MQTT 3.1.1 in a clean session, without a name or a login: every broker has an answer.
_CONNECT = b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x0a\x00\x00"
_CONNACK = b"\x20"
_GET = b"GET / HTTP/1.0\r\n\r\n"

_known: dict[tuple[str, int, bool], tuple[float, str]] = {}  # when it was asked, and what it said


def hint(host: str, port: int, tls: bool) -> str:
    """What to use at this port instead of TLS, or of MQTT without it; empty if nobody knows."""
    about = (host, port, tls)
    asked, words = _known.get(about, (float("-inf"), ""))
    if time.monotonic() - asked > AGAIN_SECONDS:
        words = _asked(host, port, tls)
        _known[about] = (time.monotonic(), words)
    return words


def _asked(host: str, port: int, tls: bool) -> str:
    if tls and _answers(host, port, _CONNECT, _CONNACK):
        return (
            "this port does not speak TLS. Give the port that does (often 8883); "
            "or use mqtt://, where everybody on the way can read along"
        )
    if not tls and _speaks_tls(host, port):
        return "this port speaks TLS: use mqtts://"
    if _answers(host, port, _GET, b"HTTP/"):
        return (
            "a web server answers at this port, and no MQTT broker; "
            "check the port (MQTT has 1883, with TLS 8883)"
        )
    return ""


def _answers(host: str, port: int, question: bytes, beginning: bytes) -> bool:
    def ask(link: socket.socket) -> bool:
        link.sendall(question)
        return link.recv(len(beginning)) == beginning

    return _try(host, port, ask)


def _speaks_tls(host: str, port: int) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is said to it: it is only asked whether it can

    def ask(link: socket.socket) -> bool:
        try:
            context.wrap_socket(link, server_hostname=host).close()
        except ssl.SSLError as error:
            return "ALERT" in (error.reason or "")  # an objection is an answer, too
        return True

    return _try(host, port, ask)


def _try(host: str, port: int, ask: Callable[[socket.socket], bool]) -> bool:
    try:
        with socket.create_connection((host, port), timeout=SECONDS) as link:
            return ask(link)
    except (OSError, ValueError):
        return False


def names(host: str, port: int, ca: str | None) -> str:
    """The names in the certificate of a server that is trusted but for its name."""
    context = ssl.create_default_context(cafile=ca)
    context.check_hostname = False
    found: list[str] = []

    def ask(link: socket.socket) -> bool:
        with context.wrap_socket(link, server_hostname=host) as secured:
            certificate: dict[str, Any] = secured.getpeercert() or {}
            found.extend(str(name) for _, name in certificate.get("subjectAltName", ()))
        return bool(found)

    _try(host, port, ask)
    return ", ".join(found[:5])
