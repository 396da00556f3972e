"""`--share` proves itself: on brokers that deal reports out, and on those that only say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.aggregator.daemons import Devices, Serving, wait_for
from tests.system.aggregator.fleets import TASK, check, reports
from tests.system.harness.nats import Nats


@pytest.mark.broker
@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_workers_behind_mosquitto_are_healthy_and_share(
    mosquitto_url: str, tmp_path: Path, version: str
) -> None:
    store = tmp_path / "s.db"
    sent = reports(60)
    options = {"share": "many", "version": version}
    with (
        Serving(mosquitto_url, store, TASK, client_id="one", **options) as first,
        Serving(mosquitto_url, store, TASK, client_id="two", **options) as second,
    ):
        assert first.daemon.health()["share"] == second.daemon.health()["share"] == "ok"
        devices = Devices(mosquitto_url, TASK)
        devices.send(sent)
        devices.wait(sent)
        devices.close()
        assert first.verdicts
        assert second.verdicts
    check(store, 60)


@pytest.mark.long
def test_where_nothing_is_delivered_a_worker_is_not_healthy_and_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """NATS grants the shared subscription; alone on it, a worker without one is healthy."""
    with Nats(tmp_path) as nats:
        (url,) = nats.urls
        with Serving(url, tmp_path / "a.db", TASK, client_id="alone", version="3.1.1") as alone:
            assert alone.daemon.health()["share"] == "ok"
        shared = Serving(url, tmp_path / "s.db", TASK, connect=False, share="many", version="3.1.1")
        with shared:
            wait_for(lambda: shared.daemon.health()["connected"], "the connection")
            wait_for(lambda: "delivers nothing" in caplog.text, "the reason in the log")
            health = shared.daemon.health()
            assert (health["ok"], health["broker"]) == (False, "ok")
            assert "leave --share out" in str(health["share"])
