"""The agent's own connection, as a virtual device uses it: thousands of them on one machine."""

from __future__ import annotations

import logging
from collections import deque

from paho.mqtt.client import MQTTMessage

from edge_agent.mqtt.client import MQTT_3, Greeting
from edge_agent.mqtt.connection import Connection
from fsir.net.backoff import Delays
from fsir.net.broker import Broker

# 3.1.1, because the embedded broker speaks nothing newer. A simulated device is silent between its
# reports, and a broker takes its time to greet thousands.
GREETING = Greeting(versions=(MQTT_3,), keepalive_seconds=600, welcome_seconds=60.0)
RETURN = Delays(first=1.0, longest=1.0)  # half a second to one and a half: not all at once
# Thousands of devices that come and go are what is simulated: nobody wants to read of each.
log = logging.getLogger("fsir.sim.connection")
log.addHandler(logging.NullHandler())
log.propagate = False

Inbox = deque[MQTTMessage]


def connection_of(broker: Broker, client_id: str, topics: list[str], inbox: Inbox) -> Connection:
    """A connection that is driven by its `step`; what arrives waits in the inbox, so that errors in
    what is done with it reach whoever does it."""
    return Connection(
        broker, client_id, topics, inbox.append, delays=RETURN, greeting=GREETING, logger=log
    )
