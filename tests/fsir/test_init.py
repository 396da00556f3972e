"""What `fsir` itself offers: every name is there, documented, and known to type checkers."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import fsir

OFFERED = {
    "FsirError",
    "Moments",
    "Projector",
    "Release",
    "SeededNoise",
    "Subspace",
    "SubspaceMessage",
    "SystemNoise",
    "Task",
    "Totals",
    "angles",
    "decode_task",
    "delta_of",
    "describe",
    "epsilon_of",
    "estimate_subspace",
    "federate",
    "final_stage",
    "first_stage",
    "load",
    "load_task",
    "mu_of",
    "projection_loss",
    "release",
    "statement",
    "task_from_table",
}


def static_imports() -> dict[str, tuple[str, str]]:
    """What the type checker sees: name -> (module, name there)."""
    tree = ast.parse(Path(fsir.__file__).read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fsir.")
        for alias in node.names
    }


def test_all_is_complete():
    assert set(fsir.__all__) == OFFERED
    assert fsir.__all__ == sorted(fsir.__all__)
    assert set(dir(fsir)) >= OFFERED


def test_type_checkers_see_the_same_names():
    assert set(static_imports()) == OFFERED


@pytest.mark.parametrize("name", sorted(OFFERED))
def test_every_name_is_what_its_home_has_and_shows_how_it_is_used(name):
    module, there = static_imports()[name]
    assert getattr(fsir, name) is getattr(importlib.import_module(module), there)
    text = inspect.getdoc(getattr(fsir, name))
    assert "Examples\n--------\n>>> " in text
    assert f"fsir.{name}" in text


def test_names_do_not_hide_packages():
    for name in OFFERED:
        assert not (Path(fsir.__file__).parent / name).exists()
        assert not (Path(fsir.__file__).parent / f"{name}.py").exists()


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="module 'fsir' has no attribute 'nothing'"):
        fsir.nothing  # noqa: B018
