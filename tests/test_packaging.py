"""What an installation promises: a light device, typed packages, versions without addresses."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("fsir", "edge_agent", "aggregator", "sim_devices")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
HEAVY = (
    "scipy",
    "sklearn",
    "pandas",
    "river",
    "matplotlib",
    "rich",
    "amqtt",
    "prometheus_client",
    "cryptography",
    "psycopg",
)
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


def test_what_only_an_owner_who_asks_for_it_needs_is_not_loaded():
    loaded = modules_after("import edge_agent.cli, edge_agent.commands.run, edge_agent.loop.runner")
    assert "edge_agent.output.local" in loaded
    rooms = {".".join(name.split(".")[:3]) for name in loaded if name.startswith("edge_agent.")}
    assert not rooms & {"edge_agent.output.home", "edge_agent.page", "edge_agent.account"}
    assert "http.server" not in loaded


def test_a_device_installs_three_packages():
    assert sorted(need.split(">")[0].split("<")[0] for need in PROJECT["dependencies"]) == [
        "msgpack",
        "numpy",
        "paho-mqtt",
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_whatever_is_no_code_is_installed_with_it(package):
    (patterns,) = SETTINGS["tool"]["setuptools"]["package-data"].values()
    for file in (ROOT / package).rglob("*"):
        if file.is_file() and file.suffix not in (".py", ".pyc"):
            home = next(folder for folder in file.parents if (folder / "__init__.py").is_file())
            assert any(file in home.glob(pattern) for pattern in patterns), file


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


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of a clean clone."""
    folder = tmp_path_factory.mktemp("wheel")
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    subprocess.run([*command, str(clone)], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.mark.long
def test_the_wheel_has_every_file_that_a_program_reads(wheel):
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES], capture_output=True, cwd=ROOT, text=True
    )
    with zipfile.ZipFile(wheel) as archive:
        assert not set(listed.stdout.split()) - set(archive.namelist())


# What is installed, and what its programs then say.
INSTALLS = {
    "": {
        "fsir-agent check --task task.toml": "This device would take part",
        "fsir-aggregator serve --task task.toml --broker mqtt://127.0.0.1:1 --store sqlite:a.db": (
            "[aggregator]"
        ),
        "fsir-sim demo": "[sim]",
    },
    "[aggregator]": {
        "fsir-aggregator task check task.toml": "The task is valid",
        "fsir-sim demo": "[sim]",
    },
    "[sim]": {"fsir-sim demo --devices 6 --windows 60": "page.html"},
}


@pytest.mark.slow
@pytest.mark.parametrize("extra", INSTALLS)
def test_each_program_works_from_the_wheel(wheel, extra, tmp_path):
    shutil.copy(ROOT / "deploy" / "example" / "task.toml", tmp_path)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    install = [programs / "python", "-m", "pip", "install", "--quiet", "--constraint"]
    subprocess.run([*install, ROOT / "constraints.txt", f"{wheel}{extra}"], check=True)
    for line, words in INSTALLS[extra].items():
        program, *arguments = line.split()
        command = [programs / program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=250)
        assert words in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
