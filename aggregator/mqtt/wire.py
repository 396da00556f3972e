"""An open MQTT connection, driven by the thread that uses it; reads and writes large pieces.

A message at QoS 1 waits here until the broker has confirmed enough of the earlier ones. Nothing is
repeated: after a lost connection everything that should be retained is published again anyway.
"""

from __future__ import annotations

import contextlib
import logging
import select
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from aggregator.mqtt import packets
from aggregator.publication import Publication
from fsir.errors import FsirError

log = logging.getLogger("fsir.aggregator")
# Messages at QoS 1 that the broker may still have to confirm; version 5 brokers allow 20 or more.
WINDOW_MESSAGES = 10
PIECE_BYTES = 2**16  # read at a time
PATIENCE_SECONDS = 60.0  # with a broker that takes nothing
_POLL_MILLISECONDS = 100  # for a broker that may take something again
_TAKEN_OVER = 142

Deliver = Callable[[str, bytes, int], None]  # topic, payload, number (0: nothing to acknowledge)


class ConnectionLostError(FsirError):
    """There is no connection, or no longer."""


class Wire:
    """One connection after its handshake.

    Every method raises `ConnectionLostError` when it is gone.
    """

    def __init__(
        self,
        sock: Any,
        name: str,
        version: str,
        deliver: Deliver,
        *,
        keepalive: float = 60.0,
        window: int = WINDOW_MESSAGES,
    ) -> None:
        now = time.monotonic()
        self._sock = sock
        self._name = name
        self.version = version
        self._deliver = deliver
        self._keepalive = keepalive or float("inf")
        self._window = window
        self.keep: object = None  # whatever must live as long as this does
        self._rest = b""
        self._arrived = 0
        self._mid = 0
        self._unconfirmed: set[int] = set()
        self._queue: deque[Publication] = deque()
        self._heard = now
        self._said = now
        self._poll = select.poll()
        self._poll.register(sock.fileno(), select.POLLIN)

    # --- reading --------------------------------------------------------------------------------

    def read(self, timeout: float, most: int, most_bytes: int = 2**24) -> int:
        """Wait up to `timeout` seconds, then hand over what is there; how many messages that were.

        About so many, or so many bytes, at most.
        """
        before = self._arrived
        size = 0
        self._keep_alive()
        if self._pending() or self._poll.poll(1000 * timeout):
            while self._arrived - before < most and size < most_bytes:
                piece = self._receive()
                if not piece:
                    break
                size += len(piece)
                self._take(piece)
        return self._arrived - before

    def _pending(self) -> bool:
        """Whether there are bytes inside of TLS: they do not show on the socket."""
        pending = getattr(self._sock, "pending", None)
        return bool(pending and pending())

    def _receive(self) -> bytes:
        """What is there, or nothing."""
        try:
            piece: bytes = self._sock.recv(PIECE_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b""
        except OSError as error:
            raise ConnectionLostError(f"{self._name}: {error}") from None
        if not piece:
            raise ConnectionLostError(f"{self._name}: the broker has closed the connection")
        return piece

    def _take(self, piece: bytes) -> None:
        self._heard = time.monotonic()
        try:
            complete, self._rest = packets.split(self._rest + piece if self._rest else piece)
            for kind, flags, body in complete:
                if kind == packets.PUBLISH:
                    self._arrived += 1
                    self._deliver(*packets.read_publish(flags, body, self.version))
                else:
                    self._handle(kind, body)
        except packets.PacketError as error:
            raise ConnectionLostError(f"{self._name} sent what is not MQTT: {error}") from None

    def _handle(self, kind: int, body: bytes) -> None:
        if kind == packets.PUBACK:
            self._unconfirmed.discard(int.from_bytes(body[:2], "big"))
            self._publish_more()
            self._complain("publish", packets.failures(kind, body, self.version))
        elif kind == packets.SUBACK:
            self._complain("subscribe", packets.failures(kind, body, self.version))
        elif kind == packets.DISCONNECT:
            reason = body[0] if body else 0
            taken = "; another program uses our client id, give each its own"
            hint = taken if reason == _TAKEN_OVER else ""
            raise ConnectionLostError(
                f"{self._name}: the broker says good-bye, reason {reason}{hint}"
            )

    def _complain(self, what: str, codes: Sequence[int]) -> None:
        if codes:
            log.error(
                "%s: we may not %s (reason %d); check the broker's access list",
                self._name,
                what,
                codes[0],
            )

    def _keep_alive(self) -> None:
        now = time.monotonic()
        if now - self._heard > 1.5 * self._keepalive:
            raise ConnectionLostError(f"{self._name}: not a word for {now - self._heard:.0f} s")
        if now - max(self._heard, self._said) > self._keepalive / 2:
            self._write(packets.PING)

    def close(self) -> None:
        """Say good-bye if that is possible; the session stays."""
        with contextlib.suppress(OSError):
            self._sock.send(packets.GOODBYE)
        self._sock.close()

    # --- writing --------------------------------------------------------------------------------

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe at QoS 1."""
        self._write(packets.subscription(topics, self.version, self._number()))

    def acknowledge(self, mids: Sequence[int]) -> None:
        """Tell the broker that these messages are safe."""
        self._write(b"".join([packets.acknowledgement(mid) for mid in mids]))

    def publish(self, publications: Sequence[Publication]) -> None:
        """Publish; what was asked for at QoS 0 leaves in one piece."""
        self._queue.extend(publication for publication in publications if publication.qos)
        self._publish_more()
        at_once = [
            packets.publish(each.topic, each.payload, self.version, retain=each.retain)
            for each in publications
            if not each.qos
        ]
        self._write(b"".join(at_once))

    def _publish_more(self) -> None:
        while self._queue and len(self._unconfirmed) < self._window:
            publication = self._queue.popleft()
            mid = self._number()
            self._unconfirmed.add(mid)
            self._write(
                packets.publish(
                    publication.topic,
                    publication.payload,
                    self.version,
                    mid,
                    retain=publication.retain,
                )
            )

    def _number(self) -> int:
        self._mid = self._mid % 65535 + 1
        return self._mid

    def _write(self, raw: bytes) -> None:
        rest = memoryview(raw)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while rest:
            try:
                rest = rest[self._sock.send(rest) :]
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                if time.monotonic() > deadline:
                    raise ConnectionLostError(
                        f"{self._name}: the broker takes nothing any more"
                    ) from None
                self._wait_for_room()
            except OSError as error:
                raise ConnectionLostError(f"{self._name}: {error}") from None
        if raw:  # writing nothing must not put off the ping
            self._said = time.monotonic()

    def _wait_for_room(self) -> None:
        self._poll.modify(self._sock.fileno(), select.POLLOUT)
        self._poll.poll(_POLL_MILLISECONDS)
        self._poll.modify(self._sock.fileno(), select.POLLIN)
