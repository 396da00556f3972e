"""The disk of the PostgreSQL server is full: nothing is acknowledged, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs import not_tested
from tests.system.aggregator.daemons import wait_for
from tests.system.cells.cells import Cells
from tests.system.harness.forkserver import ForkServer

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(600)]
ROOM = "16m"
DEVICES = 200
SPREAD_SECONDS = 4.0


@pytest.fixture
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small disk of its own, which only root can make."""
    folder = Path("/tmp") / f"fsir-small-{os.getpid()}"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        folder.rmdir()
        not_tested("mounting a small disk is not allowed here")
    shutil.chown(folder, "nobody")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


@pytest.fixture
def cells(tmp_path: Path, forkserver: ForkServer) -> Iterator[Cells]:
    made = Cells(tmp_path, forkserver, standby=False)
    yield made
    made.close()


def fill(disk: Path) -> None:
    """To the last byte."""
    with (disk / "filler").open("wb", buffering=0) as file:
        chunk = bytes(4096)
        try:
            while file.write(chunk) == len(chunk):
                pass
        except OSError:
            return


def test_tables_that_cannot_grow_make_workers_wait(cells: Cells, small: Path) -> None:
    """The tables are on a disk of their own, so that nothing else of this machine is full."""
    cells.line.run()
    cells.primary.create().start()
    cells.primary.run(f"CREATE TABLESPACE small LOCATION '{small}'")
    cells.more = "&options=-cdefault_tablespace%3Dsmall"
    cells.finish_start()
    said: list[str] = []

    def noticed() -> bool:
        said[:] = [str(cells.health(number).get("store")) for number in (0, 1)]
        return any("No space left on device" in text for text in said)

    events = [
        (0.2, lambda: fill(small)),
        (SPREAD_SECONDS, lambda: wait_for(noticed, "a worker to notice")),
        (SPREAD_SECONDS + 2.0, (small / "filler").unlink),
    ]
    cells.survive(events, DEVICES, SPREAD_SECONDS)
