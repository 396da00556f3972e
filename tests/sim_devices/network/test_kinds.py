"""Which broker is in place, and from which size on it is too slow."""

from __future__ import annotations

import pytest

from sim_devices.network import kinds
from sim_devices.network.kinds import SLOW_DEVICES, warning


@pytest.mark.parametrize(("devices", "warned"), [(SLOW_DEVICES - 1, False), (SLOW_DEVICES, True)])
def test_from_a_thousand_devices_on_the_embedded_broker_is_warned_of(
    devices: int, warned: bool
) -> None:
    assert ("mosquitto" in warning("embedded", devices)) == warned


def test_auto_is_warned_of_where_it_means_the_embedded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "find_mosquitto", lambda: "/usr/sbin/mosquitto")
    assert warning("auto", 5000) == ""
    monkeypatch.setattr(kinds, "find_mosquitto", lambda: None)
    assert "5000 devices" in warning("auto", 5000)
