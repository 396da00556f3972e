"""The one door to programs and libraries: what is behind it is called, and missed by its name."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

import fsir
from fsir.errors import FsirError
from fsir.fitted import door

ROOT = Path(fsir.__file__).parent


def behind_the_door(monkeypatch, federate):
    """A simulator that has this function."""
    module = ModuleType("sim_devices.own.federate")
    module.federate = federate
    monkeypatch.setitem(sys.modules, "sim_devices.own", ModuleType("sim_devices.own"))
    monkeypatch.setitem(sys.modules, "sim_devices.own.federate", module)


def test_federate_is_that_of_the_simulator(monkeypatch):
    behind_the_door(monkeypatch, lambda frame, **options: (frame, options))
    found = fsir.federate("frame", "activity", by="person", epsilon=2.0, name="mine")
    asked = {"response": "activity", "by": "person", "epsilon": 2.0, "name": "mine"}
    assert found == ("frame", asked)


def test_without_the_simulator_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sim_devices.own", None)
    monkeypatch.setitem(sys.modules, "sim_devices.own.federate", None)
    with pytest.raises(FsirError, match=r"pip install 'fsir-edge\[sim\]'") as caught:
        fsir.federate("frame", response="activity", by="person")
    assert isinstance(caught.value, ImportError)


def test_a_library_that_it_lacks_is_named(monkeypatch):
    def needs(frame, **_):
        raise ModuleNotFoundError("No module named 'amqtt'", name="amqtt")

    behind_the_door(monkeypatch, needs)
    with pytest.raises(FsirError, match=r"amqtt is not installed: pip install 'fsir-edge\[sim\]'"):
        fsir.federate("frame", response="activity", by="person")


def test_other_errors_pass(monkeypatch):
    def refuses(frame, **_):
        raise KeyError("activity")

    behind_the_door(monkeypatch, refuses)
    with pytest.raises(KeyError, match="activity"):
        fsir.federate("frame", response="activity", by="person")


def imports_by_name(path: Path) -> bool:
    """Whether a module imports what is not written down as an import."""
    words = {"import_module", "__import__"}
    return any(
        (isinstance(node, ast.Name) and node.id in words)
        or (isinstance(node, ast.Attribute) and node.attr in words)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def test_nothing_else_in_fsir_reaches_up():
    """The face imports its own rooms, and a program its own commands."""
    found = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if imports_by_name(path)}
    assert found == {"__init__.py", "fitted/door.py", "net/program.py"}
    rooms = {*fsir._ROOMS}
    assert {room.partition(".")[0] for room in rooms} == {"fsir"}


def test_what_the_door_leads_to_is_there():
    module, _ = door._PROGRAMS["stored_subspace"]
    assert (ROOT.parent / f"{module.replace('.', '/')}.py").is_file()
