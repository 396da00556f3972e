"""A connection to an MQTT broker that keeps itself up, driven from one thread without waiting.

MQTT 5 if the broker speaks it, else 3.1.1. A lost connection is tried again after growing, jittered
delays, for as long as it takes; a refused login is final, because repeating it would not help and
looks like an attack.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import paho.mqtt.client as mqtt

from edge_agent.mqtt.attempts import Attempts
from edge_agent.mqtt.client import (
    MQTT_3,
    MQTT_5,
    Greeting,
    greet,
    hang_up,
    new_client,
    say_good_bye,
    turn,
)
from fsir.errors import LoginRefusedError
from fsir.net.backoff import Delays
from fsir.net.broker import Broker

log = logging.getLogger("fsir.connection")
KEEPALIVE_SECONDS = 60
# For each answer to a greeting; a broker that does not know MQTT 5 may just stay silent.
WELCOME_SECONDS = 3.0
_REFUSED = {
    134: "wrong user name or password",
    135: "not authorised",
    138: "banned",
    140: "bad authentication method",
}
_WRONG_VERSION = 132


class Connection:
    """Keeps one client connected and subscribed.

    Call `step` often; `fileno` and `wants_write` are for select. What happens is told to `logger`.
    """

    def __init__(
        self,
        broker: Broker,
        client_id: str,
        topics: list[str],
        on_message: Callable[[mqtt.MQTTMessage], None],
        *,
        qos: int = 1,
        on_up: Callable[[], None] = lambda: None,
        on_down: Callable[[], None] = lambda: None,
        will: Callable[[], tuple[str, bytes] | None] = lambda: None,
        delays: Delays | None = None,
        greeting: Greeting | None = None,
        logger: logging.Logger = log,
    ) -> None:
        self._broker = broker
        self._client_id = client_id
        self._topics = topics
        self._qos = qos
        self._on_message = on_message
        self._on_up = on_up
        self._on_down = on_down
        self._will = will
        self._greeting = greeting or Greeting(
            versions=(MQTT_5, MQTT_3),
            keepalive_seconds=KEEPALIVE_SECONDS,
            welcome_seconds=WELCOME_SECONDS,
        )
        self._log = logger
        self._attempts = Attempts(broker, delays or Delays(first=1.0, longest=300.0), logger)
        self._tls = broker.context() if broker.tls else None
        self._socket: Any = None  # of the latest connection, also when the client has let go of it
        self._versions = list(self._greeting.versions)
        self._client: mqtt.Client | None = None
        self._welcomed = False
        self._unconfirmed: set[int] = set()
        self._welcome_by = 0.0
        self._stepped_at = 0.0
        self._up_at = 0.0
        self._refused = ""
        self.up = False

    # --- driving ----------------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Connect if it is time, handle what has arrived, send what waits.
        Raises only if the login is refused."""
        self._stepped_at = now
        if self._client is None and now >= self._attempts.due:
            self._connect(now)
        if self._client is not None and (not self._turn(self._client) or self._silent(now)):
            self._lost(now, self._client)
        if self._refused:
            raise LoginRefusedError(
                f"{self._broker} refuses device login: {self._refused}; check user and password"
            )

    def _turn(self, client: mqtt.Client) -> bool:
        try:
            return turn(client)
        except Exception as error:
            # Bytes that are not MQTT make the library fail in many ways: hang up, start anew.
            self._log.error("%s: %s: %s", self._broker, type(error).__name__, error)
            return False

    def _connect(self, now: float) -> None:
        client = self._new_client()
        self._welcomed = False
        try:
            greet(client, self._broker, self._versions[0], self._greeting.keepalive_seconds)
        except (OSError, ValueError) as error:  # unreachable, unknown name, failed handshake
            self._attempts.later(now, self._broker.why(error))
            return
        self._client = client
        self._welcome_by = now + self._greeting.welcome_seconds
        self._unconfirmed.clear()

    def _new_client(self) -> mqtt.Client:
        client = new_client(
            self._client_id, self._versions[0], self._broker, self._tls, self._will()
        )
        client.on_connect = self._connected
        client.on_subscribe = self._subscribed
        client.on_message = self._message
        client.on_publish = self._published
        client.on_socket_open = self._opened
        return client

    def _silent(self, now: float) -> bool:
        return not self.up and now >= self._welcome_by

    def _lost(self, now: float, client: mqtt.Client) -> None:
        hang_up(client)
        self._client = None
        if self.up:
            self.up = False
            self._on_down()
            self._attempts.lasted(now - self._up_at)
        trouble = getattr(self._socket, "trouble", None)  # of a `fsir.net.tls.TellingSocket`
        if trouble is not None:
            self._attempts.later(now, self._broker.why(trouble))
        elif not self._welcomed and not self._refused and self._versions[0] == MQTT_5:
            self._versions.reverse()  # an older broker: try at once what every broker speaks
            self._attempts.due = now
        elif self._welcomed:
            self._attempts.later(now, "the connection was lost")
        else:
            self._versions.reverse()
            self._attempts.later(now, self._broker.hint() or "the broker does not answer")

    def fileno(self) -> int | None:
        """What to wait on, if connected."""
        sock = None if self._client is None else self._client.socket()
        return None if sock is None else int(sock.fileno())

    def wants_write(self) -> bool:
        """Whether something waits to be sent."""
        return self._client is not None and self._client.want_write()

    def next_due(self, now: float) -> float:
        """When to step again if nothing arrives."""
        if self._client is None:
            return self._attempts.due
        sock: Any = self._client.socket()
        if self._tls is not None and sock is not None and sock.pending():
            return now  # decrypted already: select would not see it
        return now + self._greeting.keepalive_seconds / 6 if self.up else self._welcome_by

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> None:
        """Send at QoS 1; what gets lost is the caller's to repeat."""
        if self._client is not None:
            self._unconfirmed.add(self._client.publish(topic, payload, qos=1, retain=retain).mid)

    def subscribe(self, topics: list[str]) -> None:
        """Ask again for what is retained on some topics."""
        if self._client is not None:
            self._client.subscribe([(topic, self._qos) for topic in topics])

    def listen(self, topics: list[str]) -> None:
        """Read these topics, now and on every later connection; those it reads are passed by."""
        if more := [topic for topic in topics if topic not in self._topics]:
            self._topics = [*self._topics, *more]
            self.subscribe(more)

    def cut(self, now: float) -> None:
        """Lose the connection without a word, as a device does that leaves the network."""
        if self._client is None:
            return
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._lost(now, self._client)

    def rest(self, until: float) -> None:
        """Say good-bye, and come back at this time."""
        up = self.up
        self.close()
        self._attempts.due = until
        if up:
            self._on_down()

    def close(self) -> None:
        """Say good-bye, once the broker has what was sent."""
        if self._client is not None:
            say_good_bye(self._client, self._unconfirmed)
        self._client = None
        self.up = False

    # --- callbacks --------------------------------------------------------------------------------

    def _opened(self, _client: Any, _data: Any, sock: Any) -> None:
        self._socket = sock

    def _connected(
        self, client: mqtt.Client, _data: Any, _flags: Any, reason: Any, _properties: Any
    ) -> None:
        if reason.is_failure:
            if reason.value in _REFUSED:
                self._refused = _REFUSED[reason.value]
            elif reason.value != _WRONG_VERSION:
                self._welcomed = True  # it spoke our version, it just cannot serve us now
                self._log.warning("%s: %s", self._broker, reason)
            return
        self._welcomed = True
        self._welcome_by = self._stepped_at + self._greeting.welcome_seconds
        client.subscribe([(topic, self._qos) for topic in self._topics])

    def _subscribed(
        self, _client: Any, _data: Any, _mid: int, reasons: list[Any], _properties: Any
    ) -> None:
        if self.up:
            return  # asked again: nothing new
        for topic, reason in zip(self._topics, reasons, strict=False):
            if reason.is_failure:
                words = "%s: may not read %s (%s); check the broker's access list"
                self._log.error(words, self._broker, topic, reason)
        self.up = True
        self._up_at = self._stepped_at
        self._log.info("%s: connected", self._broker)
        self._on_up()

    def _message(self, _client: Any, _data: Any, message: mqtt.MQTTMessage) -> None:
        try:
            self._on_message(message)
        except Exception:
            # One message that nobody foresaw must not end a service that runs for months.
            size = len(message.payload)
            self._log.exception("%s: failed on a message of %d bytes", self._broker, size)

    def _published(self, _client: Any, _data: Any, mid: int, reason: Any, _properties: Any) -> None:
        self._unconfirmed.discard(mid)
        if reason is not None and reason.is_failure:
            words = "%s: may not publish (%s); check the broker's access list"
            self._log.error(words, self._broker, reason)
