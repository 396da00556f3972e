"""What a running aggregator shows that has seen everything which metrics tell about."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from aggregator.monitoring.http import HttpServer, pages
from aggregator.store.sqlite import SqliteStore
from fsir.wire.messages import Ask, encode, topic
from sim_devices.network.broker import LocalBroker
from tests.aggregator.federations import make_task, report
from tests.needs import need
from tests.system.aggregator.daemons import Devices, Serving, wait_for

TASK = make_task(p=3, records=60)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, set[str]]]:
    """Every sample's name on `/metrics`, and the labels that it has."""
    need("mosquitto")
    path = tmp_path_factory.mktemp("scraped") / "s.db"
    with LocalBroker() as broker:
        url = broker.start("mosquitto")
        with Serving(url, path, TASK) as serving:
            _busy(url, path)
            server = HttpServer(
                "127.0.0.1:0", pages(serving.daemon.metrics.shown, serving.daemon.health)
            )
            try:
                address = f"http://127.0.0.1:{server.port}/metrics"
                wait_for(lambda: "fsir_subspace_angle_degrees" in _names(address), "two versions")
                yield _names(address)
            finally:
                server.close()


def _busy(url: str, path: Path) -> None:
    """Counted, duplicate and refused reports, asks, a roster."""
    store = SqliteStore(path)
    store.enrol("test", ["d0", "d1", "silent"], 1.0)
    store.close()
    devices = Devices(url, TASK)
    for numbers in (range(3), range(2, 6)):
        sent = {f"d{i}": report(TASK, f"d{i}", i) for i in numbers}
        devices.send(sent)
        devices.wait(sent)
        wait_for(lambda: "subspace" in devices.retained, "the subspace")
        devices.retained.pop("subspace")
    devices.send({"d9": b"garbage"})
    ask = encode(Ask(TASK.digest, "d0", b"n" * 16))
    devices.publish(topic("test", "ask", "d0"), ask)
    wait_for(lambda: devices.answers["d0"].instance, "the answer")
    devices.close()


def _names(address: str) -> dict[str, set[str]]:
    with urllib.request.urlopen(address, timeout=10) as answer:
        text = answer.read().decode()
    names: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            names.setdefault(sample.name, set()).update(sample.labels)
    return names
