"""The one door to what `fsir` does not import: programs and libraries, by name, when they are used.

`fsir` knows none of the programs (contract `fsir-alone`), opens no database (`fsir-pure`), and a
device installs it with numpy and msgpack alone. But people look for `fsir.load("sqlite:...")` and
`fsir.federate(...)` here. So these reach up, at the moment of the call and for nothing else: no
module of `fsir` needs a program in order to be loaded, and what is behind the door imports `fsir`
as everybody does. The names stand in a table, where the contracts do not see them; that nothing
else in `fsir` does the same is tested.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from fsir.fitted.errors import NotInstalledError
from fsir.net.installed import how_to_install

# What is called -> the module that has it, and the extra that brings what it needs.
_PROGRAMS = {
    "stored_subspace": ("aggregator.store.reading", "aggregator"),
    "federate": ("sim_devices.own.federate", "sim"),
}


def call(name: str, /, *arguments: Any, **options: Any) -> Any:
    """Call what a program offers."""
    module, extra = _PROGRAMS[name]
    try:
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function(*arguments, **options)
    except ModuleNotFoundError as error:  # the module itself, or a library that it uses
        raise _missing(error, how_to_install(extra)) from error


def library(name: str, package: str) -> Any:
    """A module of a library that is not installed everywhere."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise _missing(error, f"pip install {package}") from error


def _missing(error: ModuleNotFoundError, remedy: str) -> NotInstalledError:
    name = str(error.name).partition(".")[0]
    return NotInstalledError(f"{name} is not installed: {remedy}")
