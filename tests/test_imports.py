"""No module of ours needs itself, by however many steps and however late."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.imports import cycles, described, import_graph

ROOT = Path(__file__).resolve().parents[1]
CHECKER = ROOT / "tools" / "imports.py"


def test_there_is_no_cycle_in_the_packages():
    graph = import_graph(ROOT)
    assert {module.partition(".")[0] for module in graph} == {
        "fsir",
        "edge_agent",
        "aggregator",
        "sim_devices",
    }
    assert [described(graph, loop) for loop in cycles(graph)] == []


def package(folder: Path, **modules: str) -> Path:
    """A package `house` with these modules; two underscores are a dot."""
    (folder / "house" / "room").mkdir(parents=True)
    for part in ("house", "house/room"):
        (folder / part / "__init__.py").touch()
    for name, text in modules.items():
        (folder / "house" / f"{name.replace('__', '/')}.py").write_text(text)
    return folder


def edges(folder: Path, module: str = "house.a") -> set[str]:
    return set(import_graph(folder, ("house",))[module])


LAZY = "def later():\n    from house.a import x\n    return x\n"
TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.a import x\n"
DYNAMIC = 'import importlib\nlater = lambda: importlib.import_module("house.a")\n'
TABLE = 'TABLE = {"a": "house.a:x"}\n'


@pytest.mark.parametrize(
    "back", [LAZY, TYPES, DYNAMIC, TABLE], ids=["lazy", "types", "dynamic", "table"]
)
def test_a_cycle_is_found_however_late_it_closes(back, tmp_path):
    folder = package(
        tmp_path, a="from house.room import b\nx = 1\n", room__b="import house.c\n", c=back
    )
    graph = import_graph(folder, ("house",))
    assert cycles(graph) == [["house.a", "house.room.b", "house.c", "house.a"]]
    (loop,) = cycles(graph)
    assert described(graph, loop).startswith("house.a (line 1) -> house.room.b (line 1) -> house.c")


def test_every_knot_is_named_once(tmp_path):
    folder = package(
        tmp_path,
        a="import house.b",
        b="import house.a",
        c="from . import d",
        d="from .c import x",
        e="from house import a, c",
    )
    assert cycles(import_graph(folder, ("house",))) == [
        ["house.a", "house.b", "house.a"],
        ["house.c", "house.d", "house.c"],
    ]


def test_a_module_from_a_package_is_no_import_of_the_package(tmp_path):
    folder = package(tmp_path, a="from house.room import b", room__b="import house.c", c="")
    assert edges(folder) == {"house.room", "house.room.b"}  # the room's own `__init__` runs as well
    assert edges(folder, "house.room.b") == {"house.c"}


def test_a_name_from_a_package_is_one_of_its_init(tmp_path):
    folder = package(tmp_path, a="from house import face", room__b="from . import face")
    (folder / "house" / "__init__.py").write_text("from house.a import x as face\n")
    assert edges(folder) == {"house"}
    assert edges(folder, "house.room.b") == {"house.room"}
    assert cycles(import_graph(folder, ("house",))) == [["house", "house.a", "house"]]


def test_the_implicit_import_of_ones_own_parents_does_not_count(tmp_path):
    folder = package(tmp_path, a="x = 1", room__b="from house.room.c import y", room__c="y = 1")
    (folder / "house" / "__init__.py").write_text("from house.a import x\n")
    (folder / "house" / "room" / "__init__.py").write_text("from .b import y\n")
    assert cycles(import_graph(folder, ("house",))) == []


def test_the_init_of_another_package_does_count(tmp_path):
    """Whoever imports a module of it runs it, and so needs all that it needs."""
    folder = package(tmp_path, a="import house.room.b", room__b="")
    (folder / "house" / "room" / "__init__.py").write_text("import house.a\n")
    assert cycles(import_graph(folder, ("house",))) == [["house.a", "house.room", "house.a"]]


def test_the_command_names_the_cycle_and_fails(tmp_path):
    folder = package(tmp_path, a="import house.b", b=LAZY)
    command = [sys.executable, str(CHECKER), "house"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == "import cycle: house.a (line 1) -> house.b (line 2) -> house.a\n"
    (folder / "house" / "b.py").write_text("")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "imports: 4 modules, no cycle\n")
