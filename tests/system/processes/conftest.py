"""A federation of real processes for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.harness.forkserver import ForkServer
from tests.system.harness.one_hot import Federation
from tests.system.processes.fleet import Processes


@pytest.fixture
def processes(tmp_path: Path, forkserver: ForkServer) -> Iterator[Processes]:
    """Two devices with fresh records for each of two reports."""
    federation = Federation(devices=2, stock=8, records=4, screening="fresh")
    made = Processes(federation, tmp_path, forkserver)
    yield made
    made.close()
