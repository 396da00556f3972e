"""One client of the library paho, driven without the library's own loop.

That loop waits in `select`, which knows only descriptors below 1024, and a simulator holds
thousands of connections in one process. Here nothing waits but a good-bye, and that not for long.
"""

from __future__ import annotations

import selectors
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from edge_agent.mqtt import lean
from fsir.limits import LIMITS
from fsir.net.broker import Broker

if TYPE_CHECKING:
    import ssl

# A broker that speaks MQTT 5 does not even send more than this.
LARGEST_BYTES = max(LIMITS.values()) + 4096
MQTT_5 = MQTTProtocolVersion.MQTTv5
MQTT_3 = MQTTProtocolVersion.MQTTv311
_GOOD_BYE_TURNS = 50
_GOOD_BYE_SECONDS = 0.02  # for each turn


class Greeting(NamedTuple):
    """How a client introduces itself."""

    versions: tuple[MQTTProtocolVersion, ...]  # in the order in which they are tried
    keepalive_seconds: int
    welcome_seconds: float  # for each answer of the broker


class _Client(mqtt.Client):
    """paho's client, but the system chooses its port when it knows whom the connection reaches.

    paho has it chosen before: then each port serves one connection alone, also those that have just
    ended, and thousands of devices on one machine search long for a free one.
    """

    def _create_socket_connection(self) -> socket.socket:
        if self._get_proxy() is not None:
            return super()._create_socket_connection()
        return socket.create_connection((self._host, self._port), timeout=self._connect_timeout)


def new_client(
    client_id: str,
    version: MQTTProtocolVersion,
    broker: Broker,
    tls: ssl.SSLContext | None,
    will: tuple[str, bytes] | None,
) -> mqtt.Client:
    """A client without a session on the broker: all that a device reads is retained."""
    client = _Client(
        CallbackAPIVersion.VERSION2,
        client_id,
        protocol=version,
        clean_session=True if version == MQTT_3 else None,
    )
    if tls is not None:
        lean.encrypt()
        client.tls_set_context(tls)
    if broker.username is not None:
        client.username_pw_set(broker.username, broker.password)
    if will is not None:
        client.will_set(*will, qos=1, retain=True)
    return client


def greet(
    client: mqtt.Client, broker: Broker, version: MQTTProtocolVersion, keepalive_seconds: int
) -> None:
    """Connect and introduce oneself; raises OSError or ValueError if nobody is there."""
    properties = None
    if version == MQTT_5:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.MaximumPacketSize = LARGEST_BYTES
    client.connect(broker.host, broker.port, keepalive_seconds, properties=properties)


def turn(client: mqtt.Client) -> bool:
    """Take what has arrived, send what waits; False if the connection is lost."""
    parts = (client.loop_read, client.loop_write, client.loop_misc)
    return all(part() == mqtt.MQTT_ERR_SUCCESS for part in parts)


def say_good_bye(client: mqtt.Client, unconfirmed: set[int]) -> None:
    """Hang up, once the broker has what was sent:
    hanging up on unread messages would take ours along. It is not waited for long."""
    for _ in range(_GOOD_BYE_TURNS):
        if not unconfirmed or not _patient_turn(client):
            break
    hang_up(client)


def hang_up(client: mqtt.Client) -> None:
    """Send what waits and a good-bye, without waiting for long."""
    if client.socket() is None:
        return
    with suppress(Exception):  # a broken connection may break its good-bye: it ends all the same
        client.disconnect()
        for _ in range(_GOOD_BYE_TURNS):
            if client.socket() is None or not _patient_turn(client):
                break


def _patient_turn(client: mqtt.Client) -> bool:
    """A turn as soon as there is something to do, or a little later."""
    sock = client.socket()
    if sock is None:
        return False
    events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.want_write() else 0)
    with selectors.DefaultSelector() as selector:
        selector.register(sock, events)
        selector.select(_GOOD_BYE_SECONDS)
    return turn(client)
