"""docs/operations.md, followed to the letter: on a server and three Pis with real systemd."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.machines import Machine, need_machines
from tests.deploy.tools import ROOT, clone, run

PIS = ("pi-01", "pi-02", "pi-03")
PATIENCE_SECONDS = 120.0
STATUS = "fsir-aggregator status --json --store sqlite:/var/lib/fsir-aggregator/reports.db"
PRIVATE = "/etc/fsir /etc/mosquitto/fsir /var/lib/fsir-agent /var/lib/fsir-aggregator"
READABLE = f"find {PRIVATE} -type f"
# Stands in for ssh's: puts files where the user would find them on the other machine.
SCP = """\
#!/bin/sh
set -eu
for target; do :; done
host=${target%%:*}
while [ $# -gt 1 ]; do cp "$1" "$FSIR_HOMES/${host%%.local}/"; shift; done
"""
SUDO = """\
#!/bin/sh
if [ "$1" = -u ]; then user=$2; shift 2; exec runuser -u "$user" -- "$@"; fi
exec "$@"
"""
# There is nothing to download from: what the page wants must be here already.
APT_GET = """\
#!/bin/sh
set -eu
for package; do case $package in install|-*) ;; *) dpkg-query --show "$package" ;; esac; done
"""


@dataclass(frozen=True)
class Block:
    """Lines to type, and where."""

    place: str
    script: str
    section: str


def blocks() -> list[Block]:
    """The blocks of the page that are headed by a place, in order."""
    page = (ROOT / "docs/operations.md").read_text()
    part = re.compile(r"^## ([^\n]*)$|^```sh (\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    listed = []
    section = ""
    for heading, place, script in part.findall(page):
        section = heading or section
        if place:
            listed.append(Block(place, script, section))
    return listed


class Site:
    """Your computer, the server and the Pis."""

    def __init__(self, folder: Path, server: Machine, pis: tuple[Machine, ...]) -> None:
        self.folder = folder
        self.server = server
        self.pis = pis
        (folder / "homes").mkdir()
        (folder / "bin").mkdir()
        _program(folder / "bin/scp", SCP)
        (folder / "homes/broker.lan").symlink_to(server.root / "root")
        for pi in pis:
            (folder / "homes" / pi.name).symlink_to(pi.root / "root")
        for machine in (server, *pis):
            for name, text in (("sudo", SUDO), ("apt-get", APT_GET)):
                _program(machine.root / "usr/local/bin" / name, text)

    def type(self, block: Block) -> None:
        """Do what a block says, where it says."""
        if block.place == "computer":
            path = f"{self.folder}/bin{os.pathsep}{os.environ['PATH']}"
            settings = {**os.environ, "PATH": path, "FSIR_HOMES": str(self.folder / "homes")}
            where = {"cwd": self.folder / "clone", "env": settings, "timeout": PATIENCE_SECONDS}
            run("sh", "-euc", block.script, **where)
        elif block.place == "server":
            self.server.sh(block.script)
        else:
            assert block.place == "pi"
            with ThreadPoolExecutor(len(self.pis)) as pool:
                list(pool.map(lambda pi: pi.sh(block.script), self.pis))

    def status(self) -> dict[str, Any]:
        """What the aggregator knows."""
        text = self.server.sh(f"runuser -u fsir-aggregator -- /opt/fsir/bin/{STATUS}")
        (task,) = json.loads(text)["tasks"]
        return dict(task)

    def wait_for(self, devices: int) -> dict[str, Any]:
        """Until the subspace of so many devices is out."""
        self.wait_until(lambda: (self.status()["subspace"] or {}).get("devices") == devices)
        return self.status()

    def wait_until(self, done: Callable[[], bool]) -> None:
        """Until something is so."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not done():
            assert time.monotonic() < deadline, self.story()
            time.sleep(0.5)

    def story(self) -> str:
        """What all services have said."""
        return "\n".join(
            machine.sh("journalctl --no-pager -o cat", None) for machine in (self.server, *self.pis)
        )


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    need_machines()
    (clone(tmp_path / "clone") / ".venv").symlink_to(sys.prefix)  # what `make setup` would make
    with ExitStack() as stack:
        server = stack.enter_context(Machine("server"))
        pis = [stack.enter_context(pi) for pi in [Machine(name, server) for name in PIS]]
        yield Site(tmp_path, server, tuple(pis))


def test_the_page_has_blocks_for_every_place() -> None:
    page = blocks()
    assert {block.place for block in page} == {"computer", "server", "pi"}
    assert [block.place for block in page if block.section.startswith("1.")] == ["computer"]


@pytest.mark.broker
@pytest.mark.timeout(900)
def test_following_the_page_ends_with_a_subspace(site: Site) -> None:
    walk = [block for block in blocks() if re.match(r"[1-4]\.", block.section)]
    result = [block for block in blocks() if block.section.startswith("5.")]
    after = [block for block in blocks() if block.section == "Looking after it"]
    for block in walk:
        site.type(block)
    status = site.wait_for(len(PIS))
    for block in result:
        site.type(block)
    assert status["stages"] == {"final": {"devices": 3, "records": 6000}}
    assert status["subspace"]["dimension"] == 2  # three classes that differ

    assert " 20000 " in site.server.sh('grep "open files" "/proc/$(pidof mosquitto)/limits"')
    _nothing_leaks(site)
    for pi in site.pis:
        ledger = f"/opt/fsir/bin/fsir-agent ledger --json --state /var/lib/fsir-agent/{pi.name}"
        assert pi.sh(f"runuser -u fsir-agent -- {ledger}").count('"final"') == 1  # spent once

    for block in after:  # a backup, and the withdrawal of pi-03
        site.type(block)
    assert site.wait_for(2)["withdrawn"] == 1
    for pi in site.pis[:2]:
        site.wait_until(lambda pi=pi: _connected(pi) == 2)
    assert _connected(site.pis[2]) == 1
    services = ("mosquitto", "fsir-aggregator")
    assert site.server.systemctl("is-active", *services).split() == ["active", "active"]


def _connected(pi: Machine) -> int:
    """How often its agent was let in."""
    return pi.sh(f"journalctl --no-pager -o cat -u fsir-agent@{pi.name}").count(": connected")


def _nothing_leaks(site: Site) -> None:
    """No key or record is in a journal, served or not, and no stranger reads a key or a memory."""
    for machine in (site.server, *site.pis):
        story = machine.sh("journalctl --no-pager -o cat")
        assert "PRIVATE KEY" not in story
        assert not re.search(r"-?\d\.\d{4},-?\d\.\d{4}|\"z\"|\"label\"", story)
        assert machine.sh(f"runuser -u nobody -- {READABLE} 2>/dev/null", None) == ""
