"""What an installation promises: a light device, typed packages, versions without addresses."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("fsir", "edge_agent", "aggregator", "sim_devices")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HEAVY = ("scipy", "sklearn", "pandas", "river", "matplotlib", "rich", "amqtt", "prometheus_client")
ON_DEVICE = (
    "fsir.contract",
    "fsir.estimate.projection",
    "fsir.estimate.votes",
    "fsir.privacy.claims",
    "fsir.privacy.describe",
    "fsir.privacy.release",
)


def loaded_after(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded."""
    loaded = "sorted({name.partition('.')[0] for name in sys.modules})"
    code = f"import sys\n{statement}\nprint(*{loaded})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        f"import {', '.join(ON_DEVICE)}",
        "import edge_agent.agent, edge_agent.cli, edge_agent.loop.runner",
    ],
)
def test_a_device_loads_nothing_heavy(statement):
    loaded = loaded_after(statement)
    assert {"numpy", "msgpack"} <= loaded
    assert not loaded & set(HEAVY)


def test_a_device_installs_three_packages():
    assert sorted(need.split(">")[0].split("<")[0] for need in PROJECT["dependencies"]) == [
        "msgpack",
        "numpy",
        "paho-mqtt",
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_that_it_is_typed(package):
    assert (ROOT / package / "py.typed").is_file()


def test_versions_are_pinned_without_saying_where_they_come_from():
    text = (ROOT / "constraints.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in lines)
