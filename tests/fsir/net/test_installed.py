"""The version, written once, and what is said where a package is missing."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from fsir.net import installed
from fsir.net.installed import require, version

PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def test_the_version_is_that_of_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: f"9.8.7 of {name}")
    assert version() == "9.8.7 of fsir-edge"


def test_in_a_clone_it_is_that_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nothing)
    assert version() == tomllib.loads(PROJECT.read_text())["project"]["version"]
    monkeypatch.setattr(installed, "_PROJECT", PROJECT.with_name("nowhere.toml"))
    assert version() == "of unknown version"


def test_what_is_needed_is_missed_at_once() -> None:
    require("numpy")
    with pytest.raises(ModuleNotFoundError) as missed:
        require("nobody_has_this")
    assert missed.value.name == "nobody_has_this"
