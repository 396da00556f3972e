"""The owner's broker is not the task's, by whatever name."""

from __future__ import annotations

import socket

import pytest

from edge_agent.output.home.apart import check_apart
from fsir.errors import ConnectionSettingsError
from fsir.net.broker import Broker

ADDRESSES = {
    "broker.example": ["192.0.2.7"],
    "alias.example": ["192.0.2.8", "192.0.2.7"],
    "six.example": ["::ffff:192.0.2.7"],
    "home.example": ["192.0.2.99"],
    "localhost": ["127.0.0.1", "::1"],
    "me.local": ["127.0.1.1"],
}


@pytest.fixture(autouse=True)
def names(monkeypatch):
    """A look-up that knows these names, and addresses."""

    def getaddrinfo(host, port, **_):
        if host not in ADDRESSES and not set(host) <= set("0123456789.:abcdef"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(0, 0, 0, "", (address, port)) for address in ADDRESSES.get(host, [host])]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    ("own", "of_task"),
    [
        ("mqtt://broker.example", "mqtt://broker.example:1883"),
        ("mqtts://BROKER.example", "mqtts://broker.example.:8883"),
        ("mqtt://me@broker.example", "mqtt://broker.example"),
        ("mqtt://localhost", "mqtt://127.0.0.1"),
        ("mqtt://[::1]", "mqtt://127.0.0.1"),
        ("mqtt://127.0.0.1", "mqtt://me.local"),
        ("mqtt://0.0.0.0", "mqtt://localhost"),
        ("mqtt://alias.example", "mqtt://broker.example"),
        ("mqtt://192.0.2.7", "mqtt://broker.example"),
        ("mqtt://six.example", "mqtt://192.0.2.7"),
        ("mqtt://unknown.example", "mqtt://UNKNOWN.example"),
        ("mqtts://broker.example:1883", "mqtt://broker.example"),
    ],
)
def test_the_tasks_broker_is_refused_and_the_message_says_why(own, of_task):
    with pytest.raises(ConnectionSettingsError, match="read what you are doing; give a broker of"):
        check_apart(Broker.parse(own), Broker.parse(of_task))


@pytest.mark.parametrize(
    ("own", "of_task"),
    [
        ("mqtt://home.example", "mqtt://broker.example"),
        ("mqtt://localhost", "mqtts://broker.example"),
        ("mqtt://unknown.example", "mqtt://broker.example"),
    ],
)
def test_another_broker_is_fine(own, of_task, caplog):
    check_apart(Broker.parse(own), Broker.parse(of_task))
    assert not caplog.text


def test_another_port_of_the_same_machine_is_warned_about(caplog):
    check_apart(Broker.parse("mqtt://localhost:1884"), Broker.parse("mqtt://127.0.0.1:1883"))
    assert "if both ports belong to one broker" in caplog.text
