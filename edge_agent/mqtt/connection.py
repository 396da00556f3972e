"""A connection to an MQTT broker that keeps itself up, driven from one thread without waiting.

MQTT 5 if the broker speaks it, else 3.1.1. A lost connection is tried again after growing, jittered delays, for as long
as it takes; a refused login is final, because repeating it would not help and looks like an attack.
"""

from __future__ import annotations

import logging
import random
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from fsir.errors import LoginRefusedError
from fsir.limits import LIMITS
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from fsir.net.tls import explain

log = logging.getLogger("fsir.connection")
KEEPALIVE = 60
STABLE = 30.0  # seconds after which a connection has proven itself, and the delays start anew
WELCOME = 3.0  # seconds for each answer to a greeting; a broker that does not know MQTT 5 may just stay silent
LARGEST = (
    max(LIMITS.values()) + 4096
)  # a broker that speaks MQTT 5 does not even send more than this
_REFUSED = {
    134: "wrong user name or password",
    135: "not authorised",
    138: "banned",
    140: "bad authentication method",
}
_WRONG_VERSION = 132


class Connection:
    """Keeps one client connected and subscribed. Call `step` often; `fileno` and `wants_write` are for select."""

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
    ) -> None:
        self._broker, self._client_id, self._topics, self._qos = broker, client_id, topics, qos
        self._on_message, self._on_up, self._on_down, self._will = on_message, on_up, on_down, will
        self._delays, self._chance = (
            delays or Delays(first=1.0, longest=300.0),
            random.SystemRandom(),
        )
        self._tls = broker.context() if broker.tls else None
        self._socket: Any = None  # of the latest connection, also when the client has let go of it
        self._told: set[str] = set()  # causes that were said since it was up for a while
        self._versions = [mqtt.MQTTv5, mqtt.MQTTv311]
        self._client: mqtt.Client | None = None
        self._attempts = 0
        self._due = 0.0
        self._welcomed = False
        self._unconfirmed: set[int] = set()
        self._welcome_by = self._stepped_at = self._up_at = 0.0
        self._refused = ""
        self.up = False

    # --- driving --------------------------------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Connect if it is time, handle what has arrived, send what waits. Raises only if the login is refused."""
        self._stepped_at = now
        if self._client is None and now >= self._due:
            self._connect(now)
        if self._client is not None and (not self._loop(self._client) or self._silent(now)):
            self._lost(now)
        if self._refused:
            raise LoginRefusedError(
                f"{self._broker} refuses device login: {self._refused}; check user and password"
            )

    def _loop(self, client: mqtt.Client) -> bool:
        try:
            return bool(client.loop(timeout=0.0) == mqtt.MQTT_ERR_SUCCESS)
        except Exception as error:  # bytes that are not MQTT make the library fail in many ways: hang up, start anew
            log.error("%s: %s: %s", self._broker, type(error).__name__, error)
            return False

    def _connect(self, now: float) -> None:
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2, self._client_id, protocol=self._versions[0],
            clean_session=True if self._versions[0] == mqtt.MQTTv311 else None,
        )  # fmt: skip
        client.on_connect, client.on_subscribe = self._connected, self._subscribed
        client.on_message, client.on_publish = self._message, self._published
        client.on_socket_open = self._opened
        if self._tls is not None:
            client.tls_set_context(self._tls)
        if self._broker.username is not None:
            client.username_pw_set(self._broker.username, self._broker.password)
        if (will := self._will()) is not None:
            client.will_set(*will, qos=1, retain=True)
        properties = None
        if self._versions[0] == mqtt.MQTTv5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.MaximumPacketSize = LARGEST
        self._welcomed = False
        try:
            client.connect(self._broker.host, self._broker.port, KEEPALIVE, properties=properties)
        except (OSError, ValueError) as error:  # unreachable, unknown name, failed handshake
            self._later(now, explain(error))
            return
        self._client, self._welcome_by = client, now + WELCOME
        self._unconfirmed.clear()

    def _opened(self, client: mqtt.Client, userdata: Any, socket: Any) -> None:
        self._socket = socket

    def _silent(self, now: float) -> bool:
        return not self.up and now >= self._welcome_by

    def _lost(self, now: float) -> None:
        _hang_up(self._client)
        self._client = None
        if self.up:
            self.up = False
            self._on_down()
            if now - self._up_at >= STABLE:
                self._attempts = 0
                self._told.clear()
            elif self._attempts >= 2:
                log.warning(
                    "%s: lost again after a few seconds; does this device run twice?", self._broker
                )
        trouble = getattr(self._socket, "trouble", None)
        if trouble is not None:
            self._later(now, explain(trouble))
        elif not self._welcomed and not self._refused and self._versions[0] == mqtt.MQTTv5:
            self._versions.reverse()  # an older broker: try at once what every broker speaks
            self._due = now
        else:
            if not self._welcomed:
                self._versions.reverse()
            self._later(
                now, "the connection was lost" if self._welcomed else "the broker does not answer"
            )

    def _later(self, now: float, why: str) -> None:
        pause = self._delays.after(self._attempts, self._chance)
        self._attempts += 1
        self._due = now + pause
        level = logging.INFO if why in self._told else logging.WARNING
        self._told.add(why)
        log.log(level, "%s: %s; next attempt in %.0f s", self._broker, why, pause)

    def fileno(self) -> int | None:
        """What to wait on, if connected."""
        socket = None if self._client is None else self._client.socket()
        return None if socket is None else int(socket.fileno())

    def wants_write(self) -> bool:
        """Whether something waits to be sent."""
        return self._client is not None and self._client.want_write()

    def next_due(self, now: float) -> float:
        """When to step again if nothing arrives."""
        if self._client is None:
            return self._due
        if isinstance(self._client.socket(), ssl.SSLSocket) and self._client.socket().pending():  # type: ignore[union-attr]
            return now  # decrypted already: select would not see it
        return now + KEEPALIVE / 6 if self.up else self._welcome_by

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> None:
        """Send at QoS 1; what gets lost is the caller's to repeat."""
        if self._client is not None:
            self._unconfirmed.add(self._client.publish(topic, payload, qos=1, retain=retain).mid)

    def subscribe(self, topics: list[str]) -> None:
        """Ask again for what is retained on some topics."""
        if self._client is not None:
            self._client.subscribe([(topic, self._qos) for topic in topics])

    def close(self) -> None:
        """Say good-bye, once the broker has what was sent: hanging up on unread messages would take ours along."""
        for _ in range(50):
            if (
                self._client is None
                or not self._unconfirmed
                or self._client.loop(0.02) != mqtt.MQTT_ERR_SUCCESS
            ):
                break
        _hang_up(self._client)
        self._client, self.up = None, False

    # --- callbacks ------------------------------------------------------------------------------------------------

    def _connected(
        self, client: mqtt.Client, _data: Any, _flags: Any, reason: Any, _properties: Any
    ) -> None:
        if reason.is_failure:
            if reason.value in _REFUSED:
                self._refused = _REFUSED[reason.value]
            elif reason.value != _WRONG_VERSION:
                self._welcomed = True  # it spoke our version, it just cannot serve us now
                log.warning("%s: %s", self._broker, reason)
            return
        self._welcomed, self._welcome_by = True, self._stepped_at + WELCOME
        client.subscribe([(topic, self._qos) for topic in self._topics])

    def _subscribed(
        self, _client: Any, _data: Any, _mid: int, reasons: list[Any], _properties: Any
    ) -> None:
        if self.up:
            return  # asked again: nothing new
        for topic, reason in zip(self._topics, reasons, strict=False):
            if reason.is_failure:
                log.error(
                    "%s: may not read %s (%s); check the broker's access list",
                    self._broker,
                    topic,
                    reason,
                )
        self.up, self._up_at = True, self._stepped_at
        log.info("%s: connected", self._broker)
        self._on_up()

    def _message(self, _client: Any, _data: Any, message: mqtt.MQTTMessage) -> None:
        try:
            self._on_message(message)
        except (
            Exception
        ):  # one message that nobody foresaw must not end a service that runs for months
            log.exception("%s: failed on a message of %d bytes", self._broker, len(message.payload))

    def _published(self, _client: Any, _data: Any, mid: int, reason: Any, _properties: Any) -> None:
        self._unconfirmed.discard(mid)
        if reason is not None and reason.is_failure:
            log.error(
                "%s: may not publish (%s); check the broker's access list", self._broker, reason
            )


def _hang_up(client: mqtt.Client | None) -> None:
    """Send what waits and a good-bye, without waiting for long."""
    if client is None or client.socket() is None:
        return
    with suppress(
        Exception
    ):  # a broken connection may break its good-bye as well: it ends all the same
        client.disconnect()
        for _ in range(50):
            if client.socket() is None or client.loop(timeout=0.02) != mqtt.MQTT_ERR_SUCCESS:
                break
