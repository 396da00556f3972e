"""Which broker is meant."""

from __future__ import annotations

import pytest

from sim_devices.network.broker import LocalBroker
from sim_devices.network.kinds import BrokerError


def test_a_url_is_taken_as_it_is_and_a_wrong_one_refused():
    with LocalBroker() as broker:
        assert broker.start("mqtt://broker.example:1884") == "mqtt://broker.example:1884"
        assert broker.pid is None
        with pytest.raises(BrokerError, match="already in use"):
            broker.start("embedded")
        with pytest.raises(BrokerError, match="started here"):
            broker.restart()
    for wrong in ("http://broker.example", "mqtt://", "rabbit"):
        with LocalBroker() as broker, pytest.raises(BrokerError, match="broker"):
            broker.start(wrong)
