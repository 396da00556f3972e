"""A tap between a device and its broker: everything that the device puts on the wire."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from urllib.parse import urlsplit

CONNECT = 1  # kinds of MQTT packets
PUBLISH = 3
PUBACK = 4
SUBSCRIBE = 8
PINGREQ = 12
DISCONNECT = 14


class Tap:
    """A TCP proxy in front of a broker that keeps what the device sends."""

    def __init__(self, url: str) -> None:
        self._broker = urlsplit(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"mqtt://127.0.0.1:{self._listener.getsockname()[1]}"
        self.sent = b""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        self._listener.settimeout(0.1)
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                device, _ = self._listener.accept()
                address = (self._broker.hostname, self._broker.port)
                # A device that leaves may not wait for what is still on its way to it.
                with (
                    device,
                    socket.create_connection(address) as broker,
                    contextlib.suppress(ConnectionError),
                ):
                    self._relay(device, broker)

    def _relay(self, device: socket.socket, broker: socket.socket) -> None:
        while not self._stop.is_set():
            for ready in select.select([device, broker], [], [], 0.1)[0]:
                chunk = ready.recv(65536)
                if not chunk:
                    return
                if ready is device:
                    self.sent += chunk
                (broker if ready is device else device).sendall(chunk)

    def packets(self) -> list[tuple[int, bytes]]:
        """Type and body of every MQTT packet of the device."""
        packets = []
        at = 0
        while at < len(self.sent):
            kind = self.sent[at] >> 4
            at, length = self._length(at + 1)
            packets.append((kind, self.sent[at : at + length]))
            at += length
        return packets

    def _length(self, at: int) -> tuple[int, int]:
        """Where a body begins whose length stands from `at` on, and that length."""
        length = 0
        shift = 0
        while True:
            byte = self.sent[at]
            length |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if not byte & 0x80:
                return at, length
