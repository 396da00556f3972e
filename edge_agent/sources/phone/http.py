"""A web server for one purpose: take JSON bodies that are POSTed to one path.

Polled, without threads or waiting. Whoever is slow, or says nothing, has ten seconds for a whole
request and holds up nobody else; if too many are connected, the one that has been there longest
goes. Bodies are bounded, and each answer ends its connection.
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
from edge_agent.sources.phone.request import (
    LARGEST_HEAD_BYTES,
    REFUSED,
    REQUEST_SECONDS,
    Head,
    answer,
)
from edge_agent.sources.tally import Tally

MOST_CLIENTS = 8
# In which an answer may be read, although not everything that was sent was wanted.
LINGER_SECONDS = 2.0
_CHUNK_BYTES = 65536


@dataclass(kw_only=True)
class _Client:
    socket: socket.socket
    deadline: float
    data: bytearray = field(default_factory=bytearray)
    length: int | None = None  # of head and body, once it is known
    body: int = 0  # where it begins
    answered: bool = False


class Listener:
    """Listens at an address.

    `take` gets each body and says whether it was understood, `tally` counts the others.
    """

    def __init__(self, url: str, take: Callable[[bytes], bool], tally: Tally) -> None:
        self._url = url
        host, port, self._path = _parts(url)
        self._take = take
        self._tally = tally
        self._clients: dict[int, _Client] = {}
        self._socket = _bound(url, host, port)
        self.port = int(self._socket.getsockname()[1])
        self._epoll = select.epoll()  # one descriptor that stands for all of them

    def start(self) -> None:
        """Answer from now on; before this a phone is told that nobody is here."""
        try:
            self._socket.listen(4 * MOST_CLIENTS)
        except OSError as error:
            raise _cannot_listen(self._url, error) from None
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

    # --- clients ----------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:  # gone again
            return
        connection.setblocking(False)
        if len(self._clients) >= MOST_CLIENTS:
            self._drop(next(iter(self._clients.values())))
        deadline = time.monotonic() + REQUEST_SECONDS
        self._clients[connection.fileno()] = _Client(socket=connection, deadline=deadline)
        self._epoll.register(connection, select.EPOLLIN)

    def _drop(self, client: _Client) -> None:
        descriptor = client.socket.fileno()
        self._epoll.unregister(descriptor)
        del self._clients[descriptor]
        client.socket.close()

    def _read(self, client: _Client) -> None:
        try:
            chunk = client.socket.recv(_CHUNK_BYTES)
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
            if not client.answered:
                self._read_body(client)

    def _read_head(self, client: _Client) -> None:
        end = client.data.find(b"\r\n\r\n")
        if end < 0 or end > LARGEST_HEAD_BYTES:
            if len(client.data) > LARGEST_HEAD_BYTES:
                self._refuse(client, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        head = Head(bytes(client.data[:end]))
        objection = head.objection(self._path)
        if objection is not None:
            self._refuse(client, objection.status, objection.where)
            return
        client.body = end + 4
        client.length = client.body + head.length
        if head.waits and len(client.data) < client.length:
            with suppress(OSError):
                client.socket.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _read_body(self, client: _Client) -> None:
        if client.length is not None and len(client.data) >= client.length:
            understood = self._take(bytes(client.data[client.body : client.length]))
            self._answer(client, HTTPStatus.OK if understood else HTTPStatus.BAD_REQUEST)

    # --- answers ----------------------------------------------------------------------------------

    def _refuse(self, client: _Client, status: HTTPStatus, where: str = "") -> None:
        self._tally.add(REFUSED[status], where=where)
        self._answer(client, status)

    def _answer(self, client: _Client, status: HTTPStatus) -> None:
        """Answer, then wait for the other side to hang up.

        Closing on unread bytes would take the answer along.
        """
        client.answered = True
        client.deadline = time.monotonic() + LINGER_SECONDS
        client.data = bytearray()
        with suppress(OSError):
            client.socket.send(answer(status))
            client.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up."""
        for client in list(self._clients.values()):
            self._drop(client)
        self._epoll.close()
        self._socket.close()


def _bound(url: str, host: str, port: int) -> socket.socket:
    """A socket at an address of this device, at which nobody listens yet."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = addresses[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SourceError(f"source {url}: {error.strerror or error}") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise _cannot_listen(url, error) from None
    bound.setblocking(False)
    return bound


def _cannot_listen(url: str, error: OSError) -> SourceError:
    return SourceError(
        f"source {url}: cannot listen there: {error.strerror}; give an address of this device "
        "(0.0.0.0 for all of them) and a free port"
    )


def _parts(url: str) -> tuple[str, int, str]:
    """Host, port and path of an address."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise SourceError(f"source {url}: {error}") from None
    if parts.scheme == "https":
        raise SourceError(
            f"source {url}: for encryption use MQTT over TLS, "
            "or a web server in front of http://127.0.0.1"
        )
    plain = parts.scheme == "http" and not parts.username and not parts.query
    if not plain or not parts.hostname or port is None:
        raise SourceError(
            f"source {url}: write http://HOST:PORT/PATH, "
            "the address of this device that the phone can reach"
        )
    return parts.hostname, port, parts.path or "/"
