"""The least that any fleet does: so many paho clients in one process connect, subscribe, publish
one report each and get one answer each, over the same broker. Nothing is learned or kept."""

import json
import resource
import selectors
import sys
import time
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from sim_devices.network.broker import LocalBroker

DEVICES = int(sys.argv[1])
REPORT = bytes(170)
AT_ONCE = 50
answered = 0


def connected(client: mqtt.Client, topic: str, *_: Any) -> None:
    """Read what is answered."""
    client.subscribe(f"answer/{topic}", qos=1)


def subscribed(client: mqtt.Client, topic: str, *_: Any) -> None:
    """Report."""
    client.publish(f"report/{topic}", REPORT, qos=1)


def heard(client: mqtt.Client, topic: str, message: mqtt.MQTTMessage) -> None:
    """Count an answer."""
    global answered
    answered += 1


def answer(client: mqtt.Client, _: Any, message: mqtt.MQTTMessage) -> None:
    """Answer a report."""
    client.publish(message.topic.replace("report", "answer"), b"counted", qos=1)


def new(port: int, name: str) -> mqtt.Client:
    """A client that is driven from outside."""
    client = mqtt.Client(
        CallbackAPIVersion.VERSION2, name, userdata=name, protocol=mqtt.MQTTv311, clean_session=True
    )
    client.on_connect = connected
    client.on_subscribe = subscribed
    client.on_message = heard
    client.connect("127.0.0.1", port, keepalive=600)
    return client


hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
start = time.monotonic()
with LocalBroker() as broker:
    port = int(broker.start("mosquitto").rsplit(":", 1)[1])
    server = mqtt.Client(CallbackAPIVersion.VERSION2, "server", protocol=mqtt.MQTTv311)
    server.max_inflight_messages_set(0)
    server.on_connect = lambda client, *_: client.subscribe("report/+", qos=1)
    server.on_message = answer
    server.connect("127.0.0.1", port)
    server.loop_start()
    selector = selectors.DefaultSelector()
    clients: list[mqtt.Client] = []
    while answered < DEVICES:
        for _ in range(min(AT_ONCE, DEVICES - len(clients))):
            clients.append(new(port, f"d{len(clients)}"))
            selector.register(clients[-1].socket(), selectors.EVENT_READ, clients[-1])
        for key, _ in selector.select(0.0 if len(clients) < DEVICES else 0.05):
            key.data.loop_read()
            key.data.loop_write()  # what a callback has queued
    seconds = time.monotonic() - start
    server.loop_stop()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
print(json.dumps({"seconds": seconds, "memory": memory}))
