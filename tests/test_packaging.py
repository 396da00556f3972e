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


def modules_after(statement: str) -> set[str]:
    """Modules that a fresh interpreter has loaded."""
    code = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


def packages_after(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded."""
    return {name.partition(".")[0] for name in modules_after(statement)}


@pytest.mark.parametrize(
    "statement",
    [
        f"import {', '.join(ON_DEVICE)}",
        "import edge_agent.agent, edge_agent.cli, edge_agent.loop.runner",
    ],
)
def test_a_device_loads_nothing_heavy(statement):
    loaded = packages_after(statement)
    assert {"numpy", "msgpack"} <= loaded
    assert not loaded & set(HEAVY)


def test_a_device_needs_neither_scipy_nor_the_estimate_to_project():
    loaded = modules_after("import fsir.estimate.projection")
    assert not loaded & {"scipy", "fsir.estimate.subspace", "sklearn", "pandas"}


def test_fsir_alone_loads_next_to_nothing():
    loaded = packages_after("import fsir")
    assert "fsir" in loaded
    assert not loaded & {"numpy", "msgpack", *HEAVY}


def test_a_name_of_fsir_loads_no_more_than_its_room():
    loaded = modules_after("from fsir import mu_of")
    assert "fsir.privacy.accounting" in loaded
    assert not loaded & {"numpy", "msgpack", "fsir.contract", "fsir.estimate", "fsir.wire"}


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
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    for line in lines:
        if not line.startswith("#"):
            assert line.count("==") == 1
            assert "/" not in line
            assert "@" not in line
