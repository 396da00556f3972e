"""One client of paho: how it reaches its broker."""

from __future__ import annotations

import socket

from edge_agent.mqtt.client import MQTT_3, greet, new_client
from fsir.net.broker import Broker


class Unbound(socket.socket):
    """A socket whose port nobody asks for."""

    def bind(self, address):
        raise AssertionError(f"bound to {address} before it is known whom it reaches")


def test_the_system_chooses_the_port_once_it_knows_whom_the_connection_reaches(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        broker = Broker("127.0.0.1", server.getsockname()[1])
        client = new_client("pi-7", MQTT_3, broker, tls=None, will=None)
        with monkeypatch.context() as patched:
            patched.setattr(socket, "socket", Unbound)
            greet(client, broker, MQTT_3, keepalive_seconds=60)
        accepted, address = server.accept()
        with accepted:
            assert client.socket().getsockname() == address
            client.socket().close()
