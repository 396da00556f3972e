"""The two aggregators of `two.yaml`, without an engine: its command lines as processes, with the
files that its folders have, at a broker with the shipped configuration and access list."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import tomli_w
import yaml

from fsir.secure.keys import write_pair
from fsir.task.secure import ROLES
from tests.aggregator.secure.pair import PAIRS, secure_task
from tests.deploy.tools import DEPLOY, ROOT, Authority, ShippedBroker, run
from tests.edge_agent.processes import write_jsonl

pytestmark = [pytest.mark.broker, pytest.mark.long]
TASK = secure_task(4, cohort=3)
PATIENCE_SECONDS = 60.0
BUNDLES = {"leader": "aggregator", "helper": "helper"}
ADDRESS = "mqtts://${FSIR_BROKER_HOST:-broker.lan}:8883"


@contextmanager
def running(command: list[str], log: Path) -> Iterator[None]:
    """A program of this project, until the end of the block."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=ROOT, stdout=out, stderr=out
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def commands(place: Path, port: int) -> dict[str, list[str]]:
    """What the containers run; only folders and ports are others."""
    services = yaml.safe_load((DEPLOY / "docker" / "two.yaml").read_text())["services"]
    found = {}
    for role in ROLES:
        here = {
            ADDRESS: f"mqtts://localhost:{port}",
            "/etc/fsir": str(place / role),
            "/var/lib/fsir": str(place / f"{role}-data"),
            "127.0.0.1:9100": "127.0.0.1:0",
        }
        text = "\n".join(services[role]["command"])
        for inside, outside in here.items():
            assert inside in text
            text = text.replace(inside, outside)
        found[role] = text.split("\n")
    return found


def fill(place: Path, authority: Authority) -> None:
    """The folders of both, as docs/operations.md says: the bundle, the task, the key."""
    for role in ROLES:
        shutil.copytree(authority.aggregator(BUNDLES[role]), place / role)
        (place / role / "task.toml").write_text(tomli_w.dumps(TASK.table()))
        write_pair(PAIRS[role], place / role / "role.key")
        (place / f"{role}-data").mkdir(mode=0o700)


def device(place: Path, authority: Authority, name: str, port: int) -> list[str]:
    """A device of the federation, with the certificate of its bundle."""
    files = authority.device(name)
    source = write_jsonl(place / f"{name}.jsonl", TASK, 100)
    login = [
        f"--{part}={files / file}"
        for part, file in (("ca", "ca.crt"), ("cert", "device.crt"), ("key", "device.key"))
    ]
    part = ["--task", str(place / "leader" / "task.toml"), "--device", name]
    part += ["--broker", f"mqtts://localhost:{port}", *login]
    return [
        "edge_agent",
        "run",
        *part,
        "--source",
        f"jsonl:{source}",
        "--follow",
        "--state",
        str(place / name),
    ]


def status(place: Path, role: str) -> dict[str, object]:
    """What an aggregator says of the task."""
    store = f"sqlite:{place / f'{role}-data'}/reports.db"
    said = run(sys.executable, "-m", "aggregator", "status", "--json", "--store", store, cwd=ROOT)
    (entry,) = json.loads(said.stdout)["tasks"]
    return dict(entry)


def test_the_command_lines_of_two_yaml_open_a_sum(
    authority: Authority, broker: ShippedBroker, tmp_path: Path
) -> None:
    fill(tmp_path, authority)
    with ExitStack() as leaving:
        for role, command in commands(tmp_path, broker.port).items():
            leaving.enter_context(running(["aggregator", *command], tmp_path / f"{role}.log"))
        for name in ("A", "B", "C"):
            command = device(tmp_path, authority, name, broker.port)
            leaving.enter_context(running(command, tmp_path / f"{name}.log"))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (
            (tmp_path / "leader-data" / "reports.db").exists()
            and status(tmp_path, "leader")["subspace"]
        ):
            words = "\n".join(log.read_text() for log in tmp_path.glob("*.log"))
            assert time.monotonic() < deadline, words[-6000:]
            time.sleep(0.5)
    for role in ROLES:
        cohorts = status(tmp_path, role)["cohorts"]
        assert isinstance(cohorts, dict)
        assert cohorts["waiting"] == 0
        assert [(pool["opened"], pool["cohorts"]) for pool in cohorts["pools"]] == [(3, 1)]
