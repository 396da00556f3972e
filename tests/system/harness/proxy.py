"""A TCP proxy that misbehaves on demand: delay, cut, half-open, garble, corrupt, throttle."""

from __future__ import annotations

import contextlib
import errno
import random
import selectors
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field

CHUNK_BYTES = 65536


@dataclass(kw_only=True)
class Weather:
    """What happens to bytes that pass."""

    delay: float = 0.0  # seconds that every chunk is held back
    throttle: int = 0  # bytes per pass, if above 0
    # Half-open: everything is swallowed and nobody hangs up, until the weather changes.
    silent: bool = False
    # How likely the first byte of a chunk becomes one that starts no MQTT packet.
    garble: float = 0.0
    # How likely some byte of a chunk becomes another one: only TLS notices this everywhere.
    corrupt: float = 0.0


@dataclass(eq=False)
class _Pair:
    """One connection: the client's socket, the server's, and what waits for each of them."""

    client: socket.socket
    server: socket.socket
    waiting: dict[socket.socket, deque[tuple[float, bytes]]] = field(default_factory=dict)
    dead: bool = False  # something was swallowed: TCP never goes on after that

    def __post_init__(self) -> None:
        self.waiting = {self.client: deque(), self.server: deque()}

    def other(self, sock: socket.socket) -> socket.socket:
        return self.server if sock is self.client else self.client


class Proxy:
    """Listens on a port of its own and passes everything on to `target`.

    Call `step` often, or `run` it in a thread.
    """

    def __init__(self, target: int, rng: random.Random) -> None:
        self._target = target
        self._rng = rng
        self.weather = Weather()
        self.damaged = 0  # chunks
        self._selector = selectors.DefaultSelector()
        self._pairs: set[_Pair] = set()
        self._listener: socket.socket | None = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.port = int(self._listener.getsockname()[1])
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread: threading.Thread | None = None
        self._ending = False

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"mqtt://127.0.0.1:{self.port}"

    def step(self, timeout: float = 0.0) -> None:
        """Pass on what there is."""
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                self._accept()
            elif key.data in self._pairs and isinstance(key.fileobj, socket.socket):
                self._read(key.data, key.fileobj)
        now = time.monotonic()
        for pair in list(self._pairs):
            if pair.dead and not self.weather.silent:
                self._reset(pair)
            for sock in (pair.client, pair.server):
                if pair in self._pairs:
                    self._write(pair, sock, now)

    def cut(self, share: float = 1.0) -> None:
        """Hang up on both ends with a reset, so that nothing in the buffers arrives."""
        for pair in list(self._pairs):
            if self._rng.random() < share:
                self._reset(pair)

    def run(self) -> None:
        """Poll in a thread, for tests that wait for processes."""

        def loop() -> None:
            while not self._ending:
                self.step(0.01)

        self._thread = threading.Thread(target=loop, name="proxy", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let go of everything."""
        self._ending = True
        if self._thread is not None:
            self._thread.join()
        for pair in list(self._pairs):
            self._drop(pair)
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        self._selector.close()

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        try:
            server = socket.create_connection(("127.0.0.1", self._target), timeout=1)
        except OSError:
            client.close()
            return
        pair = _Pair(client, server)
        for sock in (client, server):
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(sock, selectors.EVENT_READ, pair)
        self._pairs.add(pair)

    def _read(self, pair: _Pair, sock: socket.socket) -> None:
        try:
            chunk = sock.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if self.weather.silent:
            pair.dead = True
            if not chunk:  # nobody hears that the other one has gone
                self._selector.unregister(sock)
            return
        if not chunk:
            self._flush(pair)
            self._drop(pair)
            return
        due = time.monotonic() + self.weather.delay
        pair.waiting[pair.other(sock)].append((due, self._damaged(chunk)))

    def _damaged(self, chunk: bytes) -> bytes:
        if self.weather.garble and self._rng.random() < self.weather.garble:
            self.damaged += 1
            return b"\x00" + chunk[1:]  # packet type 0 is forbidden
        if self.weather.corrupt and self._rng.random() < self.weather.corrupt:
            self.damaged += 1
            at = self._rng.randrange(len(chunk))
            return chunk[:at] + bytes([chunk[at] ^ self._rng.randrange(1, 256)]) + chunk[at + 1 :]
        return chunk

    def _write(self, pair: _Pair, sock: socket.socket, now: float) -> None:
        queue = pair.waiting[sock]
        room = self.weather.throttle or CHUNK_BYTES
        while queue and queue[0][0] <= now and room > 0:
            due, chunk = queue.popleft()
            part = chunk[:room]
            try:
                sent = sock.send(part)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                    self._drop(pair)
                    return
                sent = 0
            room -= max(sent, 1)
            if sent < len(chunk):
                queue.appendleft((due, chunk[sent:]))
                if not sent:
                    return

    def _flush(self, pair: _Pair) -> None:
        """One side has said good-bye: what it sent before still arrives."""
        for sock in (pair.client, pair.server):
            with contextlib.suppress(OSError):
                sock.setblocking(True)
                sock.settimeout(0.2)
                for _, chunk in pair.waiting[sock]:
                    sock.sendall(chunk)

    def _reset(self, pair: _Pair) -> None:
        for sock in (pair.client, pair.server):
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._drop(pair)

    def _drop(self, pair: _Pair) -> None:
        self._pairs.discard(pair)
        for sock in (pair.client, pair.server):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(sock)
            sock.close()
