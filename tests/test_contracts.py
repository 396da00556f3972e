"""Who may import whom: the contracts of pyproject.toml are kept, and each is seen when broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.imports import PACKAGES

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS = {contract["id"]: contract for contract in SETTINGS["contracts"]}
# For each contract: a module, and what it must not import.
BREAKS = [
    ("fsir-layers", "fsir.errors", "fsir.task"),
    ("fsir-layers", "fsir.privacy", "fsir.wire"),
    ("fsir-layers", "fsir.estimate", "fsir.net"),
    ("fsir-layers", "fsir.contract", "fsir.fitted"),
    ("fsir-face", "fsir.wire", "fsir"),
    ("fsir-net", "fsir.net", "fsir.wire"),
    ("fsir-pure", "fsir.contract", "socket"),
    ("fsir-pure", "fsir.net", "sqlite3"),
    ("fsir-alone", "fsir.net", "edge_agent"),
    ("fsir-alone", "fsir.contract", "aggregator"),
    ("fsir-alone", "fsir.fitted", "sim_devices"),
    ("fsir-scipy", "fsir.estimate", "scipy"),
    ("fsir-light", "fsir.estimate", "sklearn"),
    ("fsir-light", "fsir.fitted", "matplotlib"),
    ("cryptography", "fsir.wire", "cryptography"),
    ("cryptography", "edge_agent.learning", "cryptography"),
    ("psycopg", "aggregator.store.tables.records", "psycopg"),
    ("device-light", "edge_agent.agent", "scipy"),
    ("device-light", "edge_agent.learning", "fsir.estimate.screening"),  # which imports scipy
    ("device-light", "edge_agent.recognition", "pandas"),
    ("device-light", "edge_agent.cli", "sim_devices"),
    ("device-river", "edge_agent.agent", "river"),
    ("device-layers", "edge_agent.errors", "edge_agent.signal"),
    ("device-layers", "edge_agent.state", "edge_agent.agent"),
    ("device-layers", "edge_agent.output", "edge_agent.recognition"),
    ("device-layers", "edge_agent.account", "edge_agent.agent"),
    ("device-layers", "edge_agent.page", "edge_agent.loop"),
    ("aggregator-alone", "aggregator.core", "edge_agent"),
    ("aggregator-alone", "aggregator.cli", "sim_devices"),
    ("aggregator-layers", "aggregator.store", "aggregator.federation"),
    ("aggregator-layers", "aggregator.core", "aggregator.daemon"),
    ("simulator-layers", "sim_devices.datasets", "sim_devices.network"),
    ("simulator-layers", "sim_devices.results", "sim_devices.paper"),
]
LAZY = "\n\ndef _later():\n    import {}\n"
TYPES = "\n\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import {}\n"


def lint(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    """Run `lint-imports` on the packages in a folder."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    options = [part for name in contracts for part in ("--contract", name)]
    environment = {**os.environ, "COLUMNS": "200", "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--no-logo", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages once more, for tests that break them and repair them again."""
    folder = tmp_path_factory.mktemp("contracts")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    return folder


def source(folder: Path, module: str) -> Path:
    path = folder.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_every_contract_is_kept():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("contract", "module", "imported"), BREAKS)
def test_a_broken_contract_is_named(contract, module, imported, copy):
    break_and_see(copy, contract, module, imported, LAZY)


@pytest.mark.parametrize(("contract", "module", "imported"), [BREAKS[0], BREAKS[-1]])
def test_an_import_for_the_type_checker_counts(contract, module, imported, copy):
    break_and_see(copy, contract, module, imported, TYPES)


def break_and_see(copy: Path, contract: str, module: str, imported: str, form: str) -> None:
    file = source(copy, module)
    honest = file.read_text()
    file.write_text(honest + form.format(imported))
    try:
        done = lint(copy, contract)
    finally:
        file.write_text(honest)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{CONTRACTS[contract]['name']} BROKEN" in done.stdout
    assert f"{module} -> {imported} (l." in done.stdout


def test_each_contract_is_broken_here():
    assert {contract for contract, _, _ in BREAKS} == set(CONTRACTS)


def test_all_layers_are_exhaustive():
    layered = [contract for contract in CONTRACTS.values() if contract["type"] == "layers"]
    assert sorted(name for contract in layered for name in contract["containers"]) == sorted(
        PACKAGES
    )
    assert all(contract["exhaustive"] for contract in layered)


@pytest.mark.parametrize("container", PACKAGES)
def test_a_new_module_needs_a_layer(container, copy):
    new = copy / container / "unheard_of.py"
    new.touch()
    try:
        done = lint(copy)
    finally:
        new.unlink()
    assert done.returncode == 1
    assert "unheard_of" in done.stdout
