"""What speaks at a port: asked once, with small fakes of everybody who may sit there."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fsir.net import probe
from fsir.net.broker import Broker
from tests.pem import Pem

Answer = Callable[[socket.socket], None]


@contextmanager
def sitting(answer: Answer) -> Iterator[tuple[int, list[int]]]:
    """Somebody at a port who answers each call in this way, and how many calls came."""
    calls: list[int] = []

    def serve() -> None:
        with suppress(OSError):  # closed: the test is over
            while True:
                link, _ = server.accept()
                calls.append(1)
                with link, suppress(OSError):
                    link.settimeout(5)
                    answer(link)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], calls
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def mqtt(link: socket.socket) -> None:
    if link.recv(100)[:1] == b"\x10":
        link.sendall(b"\x20\x02\x00\x05")  # not authorised: but it is MQTT


def web(link: socket.socket) -> None:
    if link.recv(100).startswith(b"GET "):
        link.sendall(b"HTTP/1.0 404 Not Found\r\n\r\n")


def nobody(link: socket.socket) -> None:
    link.recv(100)


def tls_1_2(pem: Pem) -> Answer:
    """A broker that wants a certificate at once, as TLS 1.2 does: it objects, in words of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(*pem.issue("broker", hosts="DNS:localhost"))
    context.load_verify_locations(pem.ca)
    context.verify_mode = ssl.CERT_REQUIRED

    def answer(link: socket.socket) -> None:
        with suppress(ssl.SSLError):
            context.wrap_socket(link, server_side=True).close()

    return answer


@pytest.mark.parametrize(
    ("answer", "tls", "words"),
    [
        (mqtt, True, "this port does not speak TLS. Give the port that does"),
        (mqtt, False, ""),
        (web, True, "a web server answers at this port, and no MQTT broker"),
        (web, False, "a web server answers at this port, and no MQTT broker"),
        (nobody, True, ""),
        (nobody, False, ""),
    ],
)
def test_who_sits_there(answer: Answer, tls: bool, words: str) -> None:
    with sitting(answer) as (port, _):
        said = probe.hint("127.0.0.1", port, tls)
    assert said.startswith(words)
    assert bool(said) == bool(words)


def test_a_port_that_speaks_tls_and_objects(tmp_path: Path) -> None:
    with sitting(tls_1_2(Pem(tmp_path))) as (port, _):
        assert probe.hint("127.0.0.1", port, False) == "this port speaks TLS: use mqtts://"


def test_nobody_is_asked_the_same_twice_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of devices of one process may wonder at the same time."""
    with sitting(mqtt) as (port, calls):
        first = probe.hint("127.0.0.1", port, True)
        assert probe.hint("127.0.0.1", port, True) == first
        assert len(calls) == 1
        monkeypatch.setattr(probe, "AGAIN_SECONDS", -1.0)
        assert probe.hint("127.0.0.1", port, True) == first
        assert len(calls) == 2


def test_only_who_was_hung_up_on_asks(tmp_path: Path) -> None:
    """An error that says enough needs no second call."""
    with sitting(mqtt) as (port, calls):
        broker = Broker.parse(f"mqtts://127.0.0.1:{port}")
        refused = ConnectionRefusedError(111, "Connection refused")
        plain = Broker.parse(f"mqtt://127.0.0.1:{port}")
        for either in (plain, broker):
            assert either.why(refused) == "[Errno 111] Connection refused"
        alert = ssl.SSLError(1, "alert")
        alert.reason = "SSLV3_ALERT_CERTIFICATE_REVOKED"
        assert "was revoked" in broker.why(alert)
        assert broker.why(socket.gaierror(-2, "Name or service not known"))
        assert calls == []
        assert "does not speak TLS" in broker.why(ConnectionResetError(104, "reset"))
        assert len(calls) == 1
