"""One MQTT connection of a virtual device, driven from outside: no thread, so that one process can hold thousands."""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

KEEPALIVE = 600  # seconds; a simulated device is silent between its reports


class Link:
    """A connection that its owner polls: `readable`, `maintain`; what arrived waits in `inbox`."""

    def __init__(self, url: str, client_id: str, topics: Sequence[str]) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 1883
        self._topics = [(topic, 1) for topic in topics]
        self.inbox: deque[tuple[str, bytes, bool]] = deque()
        self.ready = False  # connected and subscribed
        # 3.1.1, because the embedded broker speaks nothing newer; a persistent session is not needed: all that a device
        # reads is retained, and its outbox repeats what was lost.
        self._client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            clean_session=True,
            protocol=MQTTProtocolVersion.MQTTv311,
        )
        self._client.on_connect = self._on_connect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_message = self._on_message

    def open(self) -> bool:
        """Connect; False if the broker is not there."""
        try:
            self._client.connect(self._host, self._port, KEEPALIVE)
        except OSError:
            return False
        return True

    @property
    def socket(self) -> Any:
        """The socket, or None while there is no connection."""
        return self._client.socket()

    def readable(self) -> None:
        """Take what has arrived."""
        self._client.loop_read()

    def maintain(self) -> None:
        """Send what waits, keep the connection alive; notices a lost connection."""
        if self._client.want_write():
            self._client.loop_write()
        self._client.loop_misc()
        if self._client.socket() is None:
            self.ready = False

    def subscribe(self) -> None:
        """Ask again for what is retained: a broker may have lost the message, and it is not sent twice by itself."""
        self._client.subscribe(self._topics)

    def publish(self, topic: str, payload: bytes) -> None:
        """Hand a message to the broker at QoS 1; whether it arrived is for receipts to say."""
        self._client.publish(topic, payload, qos=1)

    def cut(self) -> None:
        """Lose the connection without a word, as a device does that leaves the network."""
        sock: Any = self._client.socket()
        self.ready = False
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            self._client.loop_read()  # lets the client notice

    def close(self) -> None:
        """Leave with a good-bye."""
        self.ready = False
        self._client.disconnect()

    def _on_connect(
        self, client: mqtt.Client, data: Any, flags: Any, reason: Any, properties: Any
    ) -> None:
        if not reason.is_failure:
            client.subscribe(self._topics)

    def _on_subscribe(
        self, client: mqtt.Client, data: Any, mid: int, reasons: Any, properties: Any
    ) -> None:
        self.ready = True

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        self.inbox.append((message.topic, bytes(message.payload), message.retain))
