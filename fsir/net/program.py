"""What every program does around its commands: one file a command, errors in one line, a quiet end.

A command is a module of the program's package `commands`, named like the command. It has

    PAGE = {"description": ...}             # further arguments of its parser, for --help; may be missing
    def add_arguments(parser): ...
    def run(args) -> int: ...               # the exit code

Only the module of the command that was asked for is imported: devices are small.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from fsir.errors import FsirError

MISTAKE = 2  # exit code: the settings are wrong, the last line says which
INTERRUPTED = 130


class Program:
    """A command line: `Program("fsir-agent", about, "edge_agent.commands", {"run": "take part"})`."""

    def __init__(self, name: str, about: str, package: str, commands: Mapping[str, str]) -> None:
        self._name = name
        self._about = about
        self._package = package
        self._commands = commands  # name -> the line in the help

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        """The options of the command; its function stands in `run`."""
        parser = argparse.ArgumentParser(
            prog=self._name,
            description=self._about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        asked = next((word for word in arguments if word in self._commands), "")
        for name, line in self._commands.items():
            if name != asked:
                commands.add_parser(name, help=line)
                continue
            module = import_module(f"{self._package}.{name.replace('-', '_')}")
            page = getattr(module, "PAGE", {})
            command = commands.add_parser(
                name, help=line, formatter_class=argparse.RawDescriptionHelpFormatter, **page
            )
            module.add_arguments(command)
            command.set_defaults(run=module.run)
        return parser.parse_args(arguments)

    def main(self, arguments: list[str] | None = None) -> int:
        """Run the command line; returns the exit code."""
        args = self.parse(sys.argv[1:] if arguments is None else arguments)
        return self.guarded(lambda: int(args.run(args)))

    def guarded(self, action: Callable[[], int]) -> int:
        """The exit code of an action; what it raises on purpose becomes one line."""
        try:
            return action()
        except FsirError as error:
            print(f"{self._name}: {error}", file=sys.stderr)
            return MISTAKE
        except BrokenPipeError:  # `... | head` has seen enough
            sys.stderr.close()
            return 0
        except KeyboardInterrupt:
            return INTERRUPTED
