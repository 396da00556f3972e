"""An authority, and a broker with the shipped configuration, for each module of tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.clients import Parties
from tests.deploy.tools import Authority, ShippedBroker
from tests.needs import need


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that the broker's own user can reach, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="fsir-deploy-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def authority(place: Path) -> Authority:
    need("openssl")
    return Authority(place)


@pytest.fixture(scope="module")
def broker(authority: Authority, place: Path) -> Iterator[ShippedBroker]:
    """The shipped broker with a certificate for this machine."""
    need("mosquitto", "mosquitto_pub", "mosquitto_sub")
    (place / "broker").mkdir()
    broker = ShippedBroker(authority.server("localhost", "127.0.0.1"), place / "broker")
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def parties(authority: Authority, broker: ShippedBroker) -> Parties:
    """Who connects to that broker."""
    return Parties(authority, broker)
