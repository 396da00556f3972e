"""Two aggregators at one broker: in peace by default, and under one name not without a word."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from aggregator.mqtt.client_id import client_id
from aggregator.store.sqlite import SqliteStore
from fsir.net.backoff import Delays
from tests.aggregator.federations import make_task
from tests.system.aggregator.daemons import Devices, Serving, wait_for
from tests.system.aggregator.fleets import TASK, check, reports

OTHER = make_task(p=3, records=60, name="other")
pytestmark = pytest.mark.broker


def name_of(path: Path) -> str:
    """What `serve` would call itself on this store."""
    store = SqliteStore(path)
    name = client_id(store)
    store.close()
    return name


def test_two_stores_do_not_throw_each_other_out(
    mosquitto_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    names = [name_of(path) for path in paths]
    sent = reports(10)
    with (
        caplog.at_level(logging.INFO),
        Serving(mosquitto_url, paths[0], TASK, client_id=names[0]) as one,
        Serving(mosquitto_url, paths[1], OTHER, client_id=names[1]) as other,
    ):
        devices = Devices(mosquitto_url, TASK)
        devices.send(sent)
        devices.wait(sent)
        devices.close()
        assert one.healthy
        assert other.healthy
    assert caplog.text.count("connected with MQTT") == 2
    assert "closed the connection" not in caplog.text
    check(paths[0], 10)


def test_one_name_for_two_is_said_with_its_remedy_and_both_step_back(
    mosquitto_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    delays = Delays(first=0.05, longest=5.0)
    with (
        caplog.at_level(logging.INFO),
        Serving(
            mosquitto_url, tmp_path / "a.db", TASK, client_id="twin", delays=delays, connect=False
        ),
        Serving(
            mosquitto_url, tmp_path / "b.db", OTHER, client_id="twin", delays=delays, connect=False
        ),
    ):

        def waits() -> list[float]:
            return [float(text) for text in re.findall(r"next attempt in ([\d.]+) s", caplog.text)]

        wait_for(lambda: max(waits(), default=0.0) >= 8 * delays.first, "one of them to step back")
    assert "connected as 'twin', too. Give each its own --worker" in caplog.text
