"""A device or an aggregator that the shipped broker turns away knows why, and what to do."""

from __future__ import annotations

import gc
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aggregator.mqtt.connector import Connector
from aggregator.mqtt.wire import ConnectionLostError
from edge_agent.mqtt.connection import Connection
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from tests.deploy.tools import Authority, ShippedBroker

pytestmark = [
    pytest.mark.broker,
    # The client library leaves a socket to the garbage collector when a handshake fails.
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]
Connect = Callable[..., Connection]


@pytest.fixture
def connect(broker: ShippedBroker, authority: Authority) -> Iterator[Connect]:
    """Connections of a device to the shipped broker, driven by the test."""
    made: list[Connection] = []

    def start(folder: Path | None, ca: Path | None = None) -> Connection:
        address = _address(broker, ca or authority.pki / "ca.crt", folder)
        topics = ["fsir/1/activity/task"]
        delays = Delays(0.1, 0.3)
        made.append(Connection(address, "any", topics, lambda _: None, delays=delays))
        return made[-1]

    yield start
    for connection in made:
        connection.close()
    gc.collect()


def _address(broker: ShippedBroker, ca: Path, folder: Path | None) -> Broker:
    """The broker, for a device with this folder or for one without a certificate."""
    login = {}
    if folder is not None:
        login = {"certificate": str(folder / "device.crt"), "key": str(folder / "device.key")}
    return Broker.parse(f"mqtts://localhost:{broker.port}", ca=str(ca), **login)


def step_until(link: Connection, true: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "nothing of the kind was said"
        link.step(time.monotonic())
        time.sleep(0.005)


def warned(caplog: pytest.LogCaptureFixture, *words: str) -> bool:
    """Whether one warning has all these words."""
    texts = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    return any(all(word in text for word in words) for text in texts)


def test_no_certificate(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    words = ("nobody in without a certificate", "--cert", "next attempt")
    step_until(connect(None), lambda: warned(caplog, *words))


def test_an_expired_certificate(
    connect: Connect, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    link = connect(authority.expired(tmp_path))
    step_until(link, lambda: warned(caplog, "has expired", "Renew"))


def test_a_certificate_of_another_authority(
    connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    link = connect(Authority(tmp_path).device("A"))
    step_until(link, lambda: warned(caplog, "not from an authority that the broker knows"))


def test_a_certificate_that_was_not_made_for_devices(
    connect: Connect, broker: ShippedBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for end in ("crt", "key"):
        shutil.copy(broker.files / f"server.{end}", tmp_path / f"device.{end}")
    step_until(connect(tmp_path), lambda: warned(caplog, "not made for clients"))


def test_a_broker_of_another_authority(
    connect: Connect, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    link = connect(authority.device("A"), Authority(tmp_path).pki / "ca.crt")
    step_until(link, lambda: warned(caplog, "do not accept the broker's certificate", "--ca"))


def test_a_revoked_certificate(
    connect: Connect, authority: Authority, broker: ShippedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection is up when it happens: it is lost, then the broker says why it stays away."""
    link = connect(authority.device("lost"))
    step_until(link, lambda: link.up)
    authority("revoke", "lost")
    shutil.copy(authority.pki / "crl.pem", broker.files / "crl.pem")
    broker.restart()
    step_until(link, lambda: warned(caplog, "was revoked", "another one (--cert, --key)"))
    assert not link.up


def turned_away(broker: ShippedBroker, ca: Path, folder: Path) -> str:
    """What an aggregator says that can't connect."""
    address = _address(broker, ca, folder)
    with pytest.raises(ConnectionLostError) as told:
        Connector(address, "any", lambda *_: None).open()
    words = str(told.value)
    del told
    gc.collect()
    return words


def test_an_aggregator_is_told_the_same(
    broker: ShippedBroker, authority: Authority, tmp_path: Path
) -> None:
    ours = authority.pki / "ca.crt"
    stranger = Authority(tmp_path / "strange")
    said = turned_away(broker, ours, authority.expired(tmp_path))
    assert "has expired" in said
    said = turned_away(broker, ours, stranger.device("A"))
    assert "not from an authority that the broker knows" in said
    said = turned_away(broker, stranger.pki / "ca.crt", authority.device("B"))
    assert "do not accept the broker's" in said
