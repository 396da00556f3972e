"""From an address to an open connection: paho shakes hands, `aggregator.mqtt.wire` does the rest.

MQTT 5 is tried first, because there the receiver says how many unacknowledged messages it takes
(mosquitto's own limit is 20); a broker that speaks only 3.1.1 will do. The session is persistent:
while we are away the broker keeps what arrives, and what we have not acknowledged it sends again.
"""

from __future__ import annotations

import select
import time
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from aggregator.mqtt.wire import WINDOW_MESSAGES, ConnectionLostError, Deliver, Wire
from fsir.errors import LoginRefusedError
from fsir.limits import LIMITS
from fsir.net.broker import Broker

KEEPALIVE_SECONDS = 60
ANSWER_SECONDS = 10.0  # for the broker's answer ...
# ... and while we do not know whether it speaks MQTT 5: some just say nothing.
FIRST_ANSWER_SECONDS = 2.0
RECEIVE_MAXIMUM = 2000  # unacknowledged messages that the broker may send us (MQTT 5)
LARGEST_BYTES = 2 * LIMITS["report"]  # what is longer the broker does not even send (MQTT 5)
SESSION_SECONDS = 0xFFFFFFFF  # the broker keeps our queue for as long as we are away
_POLL_MILLISECONDS = 100
_VERSIONS = {"5": MQTTProtocolVersion.MQTTv5, "3.1.1": MQTTProtocolVersion.MQTTv311}
# Unspecified, protocol error, unsupported version: how old brokers answer MQTT 5.
_REFUSED_VERSION = (128, 130, 132)
# Client id, password, not authorised, banned, authentication method.
_HOPELESS = (133, 134, 135, 138, 140)


class Connector:
    """Opens connections to one broker, and remembers which version it speaks."""

    def __init__(
        self, broker: Broker, client_id: str, deliver: Deliver, version: str | None = None
    ) -> None:
        self._broker = broker
        self._client_id = client_id
        self._deliver = deliver
        self._tls = broker.context() if broker.tls else None
        self._version = version  # None: not known yet

    def open(self) -> Wire:
        """A connection.

        Raises `ConnectionLostError` if there is none now, `LoginRefusedError` if there never will
        be.
        """
        try:
            return self._open()
        except _UnknownVersionError as error:
            hint = self._broker.hint()
            raise ConnectionLostError(f"{self._broker}: {hint}" if hint else str(error)) from None

    def _open(self) -> Wire:
        if self._version is not None:
            return self._shake_hands(self._version, ANSWER_SECONDS)
        try:
            wire = self._shake_hands("5", FIRST_ANSWER_SECONDS)
        except _UnknownVersionError:
            wire = self._shake_hands("3.1.1", ANSWER_SECONDS)
        self._version = wire.version
        return wire

    def _shake_hands(self, version: str, patience: float) -> Wire:
        client = self._client(version)
        answers = _Answers()
        client.on_connect = answers.on_connect
        client.on_socket_open = answers.on_socket_open
        address = (self._broker.host, self._broker.port)
        try:
            client.connect(*address, KEEPALIVE_SECONDS, **_options(version))
        except (OSError, ValueError) as error:
            raise ConnectionLostError(f"{self._broker}: {self._broker.why(error)}") from None
        sock = answers.socket
        try:
            self._await(client, answers, patience)
            self._judge(answers.reason)
        except BaseException:
            sock.close()
            raise
        wire = Wire(
            sock,
            str(self._broker),
            version,
            self._deliver,
            keepalive=answers.setting("ServerKeepAlive", KEEPALIVE_SECONDS),
            window=min(WINDOW_MESSAGES, answers.setting("ReceiveMaximum", WINDOW_MESSAGES)),
        )
        wire.keep = client  # paho closes the socket when it is no longer needed itself
        return wire

    def _client(self, version: str) -> mqtt.Client:
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._client_id,
            protocol=_VERSIONS[version],
            clean_session=None if version == "5" else False,
            reconnect_on_failure=False,
        )
        if self._broker.username is not None:
            client.username_pw_set(self._broker.username, self._broker.password)
        if self._tls is not None:
            client.tls_set_context(self._tls)
        return client

    def _await(self, client: mqtt.Client, answers: _Answers, patience: float) -> None:
        """Read the broker's answer and not one byte more: what follows it belongs to the wire."""
        deadline = time.monotonic() + patience
        rc = MQTTErrorCode.MQTT_ERR_CONN_LOST
        while answers.reason is None:
            if client.want_write():
                client.loop_write()
            if (trouble := getattr(answers.socket, "trouble", None)) is not None:
                raise ConnectionLostError(f"{self._broker}: {self._broker.why(trouble)}")
            if client.socket() is None:  # a broker that does not know the version may just hang up
                raise _UnknownVersionError(f"{self._broker}: {mqtt.error_string(rc)}")
            if time.monotonic() > deadline:
                raise _UnknownVersionError(f"{self._broker}: no answer within {patience:g} s")
            if _readable(answers.socket):
                rc = self._read(client)

    def _read(self, client: mqtt.Client) -> MQTTErrorCode:
        try:
            return client.loop_read()
        except Exception as error:  # paho raises all kinds on bytes that are not MQTT
            raise _UnknownVersionError(f"{self._broker} sent what is not MQTT: {error!r}") from None

    def _judge(self, reason: ReasonCode | None) -> None:
        if reason is None or not reason.is_failure:
            return
        if reason.value in _HOPELESS:
            raise LoginRefusedError(
                f"{self._broker}: {reason}; check user name, password, certificate and access list"
            )
        kind = _UnknownVersionError if reason.value in _REFUSED_VERSION else ConnectionLostError
        raise kind(f"{self._broker}: {reason}")


def _options(version: str) -> dict[str, Any]:
    """What only MQTT 5 can say about a session."""
    if version != "5":
        return {}
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = SESSION_SECONDS
    properties.ReceiveMaximum = RECEIVE_MAXIMUM
    properties.MaximumPacketSize = LARGEST_BYTES
    return {"clean_start": False, "properties": properties}


def _readable(sock: Any) -> bool:
    """Whether there is something to read, after a tenth of a second at most."""
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return bool(poll.poll(_POLL_MILLISECONDS) or getattr(sock, "pending", int)())


class _Answers:
    """What the broker says to our CONNECT."""

    def __init__(self) -> None:
        self.reason: ReasonCode | None = None
        self.properties: Any = None
        self.socket: Any = None  # paho lets go of it when the broker hangs up; it may know why

    def setting(self, name: str, ours: int) -> int:
        """What the broker asks for, or else what we would take ourselves."""
        return int(getattr(self.properties, name, ours))

    def on_socket_open(self, client: Any, userdata: Any, socket: Any) -> None:
        """paho's callback."""
        self.socket = socket

    def on_connect(
        self, client: Any, userdata: Any, flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        """paho's callback."""
        self.reason = reason
        self.properties = properties


class _UnknownVersionError(ConnectionLostError):
    """Perhaps the broker does not speak this version of MQTT."""
