"""A web server for one purpose: take JSON bodies that are POSTed to one path. Polled, without threads or waiting.

Whoever is slow, or says nothing, has ten seconds for a whole request and holds up nobody else; if too many are
connected, the one that has been there longest goes. Bodies are bounded, and each answer ends its connection.

Requests that are refused are counted, and said in the owner's log: an address mistyped in the app must not look like
silence. The one that asked learns nothing but the status: the path may be all that keeps strangers out.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

from edge_agent.errors import SourceError
from edge_agent.sources.tally import Tally

LARGEST_HEAD, LARGEST_BODY = 16 * 1024, 2**20  # bytes; a second of a fast phone is 0.2 MB
CLIENTS = 8
SECONDS = 10.0  # for one request
LINGER = (
    2.0  # seconds in which an answer may be read, although not everything that was sent was wanted
)
SHOWN = 40  # characters of what a stranger sent, in the log
_CHUNK = 65536

REFUSED = {  # nothing that a stranger sent is in these texts, so that there are no more of them
    HTTPStatus.BAD_REQUEST: "requests refused: not HTTP/1; the address in the app must begin with http://, not https://",
    HTTPStatus.NOT_FOUND: "requests refused: they are for another path",
    HTTPStatus.METHOD_NOT_ALLOWED: "requests refused: not a POST, as the app sends it",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "requests refused: not application/json, as the app sends it",
    HTTPStatus.LENGTH_REQUIRED: "requests refused: without a Content-Length; whatever is in between must pass it on",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        f"requests refused: larger than {LARGEST_BODY} bytes; send smaller batches more often (a setting of the app)"
    ),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: f"requests refused: a head of more than {LARGEST_HEAD} bytes",
    HTTPStatus.REQUEST_TIMEOUT: f"requests given up: not complete within {SECONDS:.0f} s; is the network too slow?",
}


@dataclass
class _Client:
    socket: socket.socket
    deadline: float
    data: bytearray = field(default_factory=bytearray)
    length: int | None = None  # of head and body, once it is known
    body: int = 0  # where it begins
    answered: bool = False


class Listener:
    """Listens at an address; `take` gets each body and says whether it was understood, `tally` counts the others."""

    def __init__(self, url: str, take: Callable[[bytes], bool], tally: Tally) -> None:
        host, port, self._path = _parts(url)
        self._take, self._tally, self._clients = take, tally, dict[int, _Client]()
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )[0]
            self._socket = socket.socket(family, kind, protocol)
        except OSError as error:
            raise SourceError(f"source {url}: {error.strerror or error}") from None
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(address)
            self._socket.listen(4 * CLIENTS)
        except OSError as error:
            self._socket.close()
            raise SourceError(
                f"source {url}: cannot listen there: {error.strerror}; give an address of this device (0.0.0.0 for "
                "all of them) and a free port"
            ) from None
        self._socket.setblocking(False)
        self.port = int(self._socket.getsockname()[1])
        self._epoll = select.epoll()  # one descriptor that stands for all of them
        self._epoll.register(self._socket, select.EPOLLIN)

    def fileno(self) -> int:
        """What to wait on."""
        return self._epoll.fileno()

    def delay(self) -> float:
        """Until somebody's time is over."""
        deadlines = [client.deadline for client in self._clients.values()]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else 3600.0

    def step(self) -> None:
        """Handle what has arrived."""
        for descriptor, _ in self._epoll.poll(0):
            if descriptor == self._socket.fileno():
                self._accept()
            elif descriptor in self._clients:
                self._read(self._clients[descriptor])
        now = time.monotonic()
        for client in [client for client in self._clients.values() if now >= client.deadline]:
            if not client.answered:
                self._refuse(client, HTTPStatus.REQUEST_TIMEOUT)
            self._drop(client)

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:  # gone again
            return
        connection.setblocking(False)
        if len(self._clients) >= CLIENTS:
            self._drop(next(iter(self._clients.values())))
        self._clients[connection.fileno()] = _Client(connection, time.monotonic() + SECONDS)
        self._epoll.register(connection, select.EPOLLIN)

    def _drop(self, client: _Client) -> None:
        descriptor = client.socket.fileno()
        self._epoll.unregister(descriptor)
        del self._clients[descriptor]
        client.socket.close()

    def _read(self, client: _Client) -> None:
        try:
            chunk = client.socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._drop(client)
        elif not client.answered:
            client.data += chunk
            if client.length is None:
                self._read_head(client)
            if (
                client.length is not None
                and len(client.data) >= client.length
                and not client.answered
            ):
                understood = self._take(bytes(client.data[client.body : client.length]))
                self._answer(client, HTTPStatus.OK if understood else HTTPStatus.BAD_REQUEST)

    def _read_head(self, client: _Client) -> None:
        end = client.data.find(b"\r\n\r\n")
        if end < 0 or end > LARGEST_HEAD:
            if len(client.data) > LARGEST_HEAD:
                self._refuse(client, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        first, *lines = client.data[:end].decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        objection = self._objection(first.split(" "), headers)
        if objection is not None:
            self._refuse(client, *objection)
            return
        client.body = end + 4
        client.length = client.body + int(headers["content-length"])
        if headers.get("expect", "").lower() == "100-continue" and len(client.data) < client.length:
            with suppress(OSError):
                client.socket.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _objection(
        self, request: list[str], headers: dict[str, str]
    ) -> tuple[HTTPStatus, str] | None:
        """Why a request is not taken, and what the owner should know about it."""
        if len(request) != 3 or not request[2].startswith("HTTP/1."):
            return HTTPStatus.BAD_REQUEST, ""
        path = request[1].partition("?")[0]
        if path != self._path:
            return (
                HTTPStatus.NOT_FOUND,
                f"the last one for {_shown(path)}; the app must push to {self._path!r}",
            )
        if request[0] != "POST":
            return HTTPStatus.METHOD_NOT_ALLOWED, f"the last one is a {_shown(request[0])}"
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the last one is {_shown(kind)}"
        length = headers.get("content-length", "")
        if "transfer-encoding" in headers or not (
            length.isascii() and length.isdigit() and len(length) < 16
        ):
            return HTTPStatus.LENGTH_REQUIRED, ""
        size = int(length)
        return (
            (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the last one has {size} bytes")
            if size > LARGEST_BODY
            else None
        )

    def _refuse(self, client: _Client, status: HTTPStatus, where: str = "") -> None:
        self._tally.add(REFUSED[status], where=where)
        self._answer(client, status)

    def _answer(self, client: _Client, status: HTTPStatus) -> None:
        """Answer, then wait for the other side to hang up: closing on unread bytes would take the answer along."""
        body = f"{status.phrase}\n".encode()
        allow = "Allow: POST\r\n" if status is HTTPStatus.METHOD_NOT_ALLOWED else ""
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\n{allow}Content-Type: text/plain\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        client.answered, client.deadline = True, time.monotonic() + LINGER
        client.data = bytearray()
        with suppress(OSError):
            client.socket.send(head.encode() + body)
            client.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up."""
        for client in list(self._clients.values()):
            self._drop(client)
        self._epoll.close()
        self._socket.close()


def _shown(text: str) -> str:
    """A stranger's text for the log: short, on one line, and no more than ASCII."""
    return ascii(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def _parts(url: str) -> tuple[str, int, str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise SourceError(f"source {url}: {error}") from None
    if parts.scheme == "https":
        raise SourceError(
            f"source {url}: for encryption use MQTT over TLS, or a web server in front of http://127.0.0.1"
        )
    if (
        parts.scheme != "http"
        or not parts.hostname
        or port is None
        or parts.username
        or parts.query
    ):
        raise SourceError(
            f"source {url}: write http://HOST:PORT/PATH, the address of this device that the phone can reach"
        )
    return parts.hostname, port, parts.path or "/"
