"""NATS as a cell: three nodes that are one broker, of which one dies while reports come in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.fsir.tasks import task
from tests.system.aggregator.daemons import Serving
from tests.system.aggregator.fleets import check
from tests.system.cells.devices import Fleet
from tests.system.harness.haproxy import HaProxy
from tests.system.harness.nats import Nats

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TASK = task()
DEVICES = 200
SPREAD_SECONDS = 20.0


def run(directory: Path, *killed: int) -> float:
    """A whole federation, of which some nodes die; seconds until the last receipt."""
    directory.mkdir()
    with (
        Nats(directory, nodes=3) as nats,
        HaProxy(directory, nats.ports) as proxy,
        Serving(proxy.url, directory / "s.db", TASK, version="3.1.1"),
        closing(Fleet(DEVICES, proxy.url, TASK, SPREAD_SECONDS)) as fleet,
    ):
        seconds = fleet.run([(SPREAD_SECONDS / 2, lambda: [nats.kill(node) for node in killed])])
        assert all(device.settled for device in fleet.devices)
    check(directory / "s.db", DEVICES, TASK)
    return seconds


def test_a_node_that_dies_loses_and_doubles_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("undisturbed", round(run(tmp_path / "calm"), 1))
    record_property("with a node killed", round(run(tmp_path / "killed", 1), 1))
