"""The brokers of the tests have the settings that they are named after."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_devices.network.probe import free_port, in_service
from tests.system.harness.brokers import Mosquitto, settings


@pytest.mark.broker
@pytest.mark.parametrize("kind", ["debian", "shipped"])
def test_a_broker_has_the_settings_of_its_kind_and_more(kind):
    port = free_port()
    with Mosquitto(kind, (f"listener {port} 127.0.0.1",)) as broker:
        broker.start("mosquitto")
        assert in_service(port)
        written = Path(broker._directory.name, "mosquitto.conf").read_text().splitlines()
    assert {*settings(kind)} <= {*written}
