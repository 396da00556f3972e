"""One MQTT connection of the aggregator, driven by the thread that uses it.

paho's own thread would compete with the merging for the interpreter, and it dies silently when a callback raises; here
the caller waits for the socket and paho only parses and writes. MQTT 5 is tried first, because there the receiver says
how many unacknowledged messages it takes (mosquitto's own limit is 20); a broker that speaks only 3.1.1 is fine too.
"""

from __future__ import annotations

import logging
import select
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from aggregator import packets
from aggregator.publication import Publication
from edge_agent.connection import Broker
from edge_agent.errors import LoginRefusedError
from fsir.errors import FsirError
from fsir.messages import LIMITS

LOG = logging.getLogger("fsir.aggregator")
KEEPALIVE = 60
ANSWER_SECONDS = 10.0  # for CONNACK
FIRST_ANSWER_SECONDS = 2.0  # while we do not know whether the broker speaks MQTT 5: some just say nothing
RECEIVE_MAXIMUM = 2000  # unacknowledged messages that the broker may send us (MQTT 5)
LARGEST = 2 * LIMITS["report"]  # bytes; what is longer the broker does not even send (MQTT 5)
SESSION_SECONDS = 0xFFFFFFFF  # the broker keeps our queue for as long as we are away
_REFUSED_VERSION = (128, 130, 132)  # unspecified, protocol error, unsupported version: how old brokers answer MQTT 5
_HOPELESS = (133, 134, 135, 138, 140)  # client id, password, not authorised, banned, authentication method


class ConnectionLostError(FsirError):
    """There is no connection, or no longer."""


Deliver = Callable[[str, bytes, int], None]  # topic, payload, message id (0: nothing to acknowledge)


class Connection:
    """A connection with a persistent session; the first message that it hands over may be of an earlier life."""

    def __init__(self, broker: Broker, client_id: str, deliver: Deliver, version: str | None = None) -> None:
        self._broker, self._client_id, self._deliver = broker, client_id, deliver
        self._tls = broker.context() if broker.tls else None
        self._client: mqtt.Client | None = None
        self._protocol = MQTTProtocolVersion.MQTTv311 if version == "3.1.1" else MQTTProtocolVersion.MQTTv5
        self._certain = version is not None  # of the version: it was given, or has worked
        self._answer: ReasonCode | None = None
        self._poll = select.poll()
        self._arrived = 0

    @property
    def protocol(self) -> str:
        """The version in use."""
        return "5" if self._protocol == MQTTProtocolVersion.MQTTv5 else "3.1.1"

    def open(self) -> None:
        """Connect, or raise."""
        try:
            self._try()
        except _VersionRefusedError:
            self._protocol = MQTTProtocolVersion.MQTTv311
            try:
                self._try()
            except ConnectionLostError:
                self._protocol = MQTTProtocolVersion.MQTTv5  # it was not the version, then
                raise
        self._certain = True

    def _try(self) -> None:
        five = self._protocol == MQTTProtocolVersion.MQTTv5
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._client_id,
            protocol=self._protocol,
            clean_session=None if five else False,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        if self._broker.username is not None:
            client.username_pw_set(self._broker.username, self._broker.password)
        if self._tls is not None:
            client.tls_set_context(self._tls)
        client.on_connect, client.on_message = self._on_connect, self._on_message
        client.on_subscribe, client.on_publish = self._on_subscribe, self._on_publish
        client.max_queued_messages_set(0)
        options: dict[str, Any] = {}
        if five:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = SESSION_SECONDS
            properties.ReceiveMaximum = RECEIVE_MAXIMUM
            properties.MaximumPacketSize = LARGEST
            options = {"clean_start": False, "properties": properties}
        self.close()
        self._answer = None
        try:
            client.connect(self._broker.host, self._broker.port, KEEPALIVE, **options)
        except (OSError, ValueError) as error:
            raise ConnectionLostError(f"{self._broker}: {error}") from None
        self._client = client
        sock = client.socket()
        assert sock is not None
        self._poll = select.poll()
        self._poll.register(sock.fileno(), select.POLLIN)
        probing = five and not self._certain
        try:
            answer = self._await_answer(FIRST_ANSWER_SECONDS if probing else ANSWER_SECONDS)
        except ConnectionLostError:
            if probing:  # a broker that does not know version 5 may hang up or say nothing
                raise _VersionRefusedError from None
            raise
        self._judge(answer, probing)

    def _await_answer(self, seconds: float) -> ReasonCode:
        deadline = time.monotonic() + seconds
        while self._answer is None:
            if time.monotonic() > deadline:
                raise ConnectionLostError(f"{self._broker}: no answer within {seconds:g} s")
            try:
                self.read(0.1)
            except ConnectionLostError:
                if self._answer is None:  # otherwise it said no, and then hung up
                    raise
        return self._answer

    def _judge(self, answer: ReasonCode, probing: bool) -> None:
        if not answer.is_failure:
            return
        self.close()
        if probing and answer.value in _REFUSED_VERSION:
            raise _VersionRefusedError
        if answer.value in _HOPELESS:
            raise LoginRefusedError(f"{self._broker}: {answer}; check user name, password, certificate and access list")
        raise ConnectionLostError(f"{self._broker}: {answer}")

    def close(self) -> None:
        """Leave politely if that is possible; the session stays."""
        if self._client is not None:
            self._client.disconnect()
            sock = self._client.socket()
            if sock is not None:
                sock.close()
            self._client = None

    # --- callbacks: none of them may raise --------------------------------------------------------------------------

    def _on_connect(self, client: Any, userdata: Any, flags: Any, reason: ReasonCode, properties: Any) -> None:
        self._answer = reason

    def _on_message(self, client: Any, userdata: Any, message: mqtt.MQTTMessage) -> None:
        self._arrived += 1
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = "topic that is not UTF-8"
        self._deliver(topic, bytes(message.payload), message.mid if message.qos else 0)

    def _on_subscribe(self, client: Any, userdata: Any, mid: int, reasons: list[ReasonCode], properties: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            LOG.error("the broker refuses our subscription (%s): check its access list", reasons[0])

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason: ReasonCode, properties: Any) -> None:
        if reason.is_failure:
            LOG.error("the broker refuses what we publish (%s): check its access list", reason)

    # --- use ------------------------------------------------------------------------------------------------------

    def read(self, timeout: float, most: int = 1000) -> int:
        """Wait up to `timeout` seconds, then hand over what is there, at most about `most` messages; how many."""
        client, sock = self._live()
        before = self._arrived
        pending = getattr(sock, "pending", None)  # bytes inside of TLS do not show on the socket
        self._poll.modify(sock.fileno(), select.POLLIN | (select.POLLOUT if client.want_write() else 0))
        if (pending and pending()) or self._poll.poll(1000 * timeout):
            while self._arrived - before < most:
                seen = self._arrived
                self._check(self._parse(client))
                if self._arrived == seen:
                    break
            if client.want_write():
                self._check(client.loop_write())
        self._check(client.loop_misc())
        return self._arrived - before

    def _parse(self, client: mqtt.Client) -> MQTTErrorCode:
        try:
            return client.loop_read()
        except Exception as error:  # paho raises all kinds on bytes that are not MQTT; a new connection mends that
            raise ConnectionLostError(
                f"{self._broker} sent what is not MQTT: {type(error).__name__}: {error}"
            ) from error

    def subscribe(self, topic: str) -> None:
        """Subscribe at QoS 1."""
        self._check(self._live()[0].subscribe(topic, 1)[0])

    def acknowledge(self, mids: Sequence[int]) -> None:
        """Tell the broker that these messages are safe."""
        self._write(b"".join([packets.acknowledgement(mid) for mid in mids]))

    def publish(self, publications: Sequence[Publication]) -> None:
        """Publish, retained; what was asked for at QoS 0 leaves in one piece."""
        client, _ = self._live()
        for publication in publications:
            if publication.qos:
                self._check(client.publish(publication.topic, publication.payload, publication.qos, retain=True).rc)
        self._write(b"".join([packets.retained(p.topic, p.payload, self.protocol) for p in publications if not p.qos]))

    def _write(self, raw: bytes) -> None:
        client, sock = self._live()
        rest, deadline = memoryview(raw), time.monotonic() + KEEPALIVE
        while rest or client.want_write():
            try:
                if client.want_write():  # paho first: it may be in the middle of a packet
                    self._check(client.loop_write())
                    stuck = client.want_write()
                else:
                    rest, stuck = rest[sock.send(rest) :], False
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                stuck = True
            except OSError as error:
                raise ConnectionLostError(f"connection to {self._broker} lost: {error}") from None
            if stuck:
                if time.monotonic() > deadline:
                    raise ConnectionLostError(f"the broker takes nothing for {KEEPALIVE} s")
                self._poll.modify(sock.fileno(), select.POLLOUT)
                self._poll.poll(100)

    def _live(self) -> tuple[mqtt.Client, Any]:
        sock = self._client.socket() if self._client is not None else None
        if self._client is None or sock is None:
            raise ConnectionLostError("not connected")
        return self._client, sock

    def _check(self, rc: MQTTErrorCode) -> None:
        if rc not in (MQTTErrorCode.MQTT_ERR_SUCCESS, MQTTErrorCode.MQTT_ERR_AGAIN):
            raise ConnectionLostError(f"connection to {self._broker} lost: {mqtt.error_string(rc)}")


class _VersionRefusedError(ConnectionLostError):
    """The broker does not speak this version of MQTT."""
