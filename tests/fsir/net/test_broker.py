"""Addresses of brokers, and logins that stay out of every text."""

from __future__ import annotations

import pytest

from fsir.errors import ConnectionSettingsError
from fsir.net.broker import Broker


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mqtt://host", ("host", 1883, False, None)),
        ("mqtts://host", ("host", 8883, True, None)),
        ("mqtt://pi@host:99", ("host", 99, False, "pi")),
        ("mqtt://[::1]:1884/", ("::1", 1884, False, None)),
    ],
)
def test_addresses(url, expected):
    broker = Broker.parse(url)
    assert (broker.host, broker.port, broker.tls, broker.username) == expected


@pytest.mark.parametrize(
    "url",
    [
        "host:1883",
        "http://host",
        "mqtt://",
        "mqtt://host:port",
        "mqtt://host:99999",
        "mqtt://host/topic",
        "",
    ],
)
def test_mistakes_in_addresses_are_named(url):
    with pytest.raises(ConnectionSettingsError, match="broker address"):
        Broker.parse(url)


def test_a_password_does_not_belong_into_an_address_nor_into_any_text():
    with pytest.raises(ConnectionSettingsError, match="password-file") as caught:
        Broker.parse("mqtt://pi:hunter2@host")
    assert "hunter2" not in str(caught.value)
    broker = Broker.parse("mqtt://host", username="pi", password="hunter2")
    assert "hunter2" not in f"{broker} {broker!r}"


def test_certificates_need_encryption_and_must_exist():
    with pytest.raises(ConnectionSettingsError, match="mqtts"):
        Broker.parse("mqtt://host", ca="ca.pem")
    with pytest.raises(ConnectionSettingsError, match="--ca"):
        Broker.parse("mqtts://host", ca="nowhere.pem").context()
