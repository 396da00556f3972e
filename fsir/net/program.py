"""What every program does around its commands: one file a command, errors in one line, a quiet end.

A command is a module of the program's package `commands`, named like the command. It has

    PAGE = {"description": ...}        # further arguments of its parser, for --help; may be missing
    def add_arguments(parser): ...
    def run(args) -> int: ...          # the exit code

A command with actions of its own, such as `task new`, has instead

    ACTIONS = {"new": "its line in the help of `task`"}

and each action is a module like that of a command, here `task_new`. Only the modules that were
asked for are imported: devices are small.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from fsir.errors import FsirError

MISTAKE = 2  # exit code: the settings are wrong, the last line says which
INTERRUPTED = 130


class Program:
    """A command line: `Program("fsir-agent", about, "edge_agent.commands", {"run": "take part"})`.

    `commands` maps the name of each command to its line in the help.
    """

    def __init__(self, name: str, about: str, package: str, commands: Mapping[str, str]) -> None:
        self._name = name
        self._about = about
        self._package = package
        self._commands = commands

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options of the command; its function stands in `run`."""
        parser = argparse.ArgumentParser(
            prog=self._name,
            description=self._about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        words = [word for word in arguments if not word.startswith("-")]
        self._add_commands(parser, "command", self._commands, words)
        return parser.parse_args(arguments)

    def main(self, arguments: Sequence[str] | None = None) -> int:
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

    def _add_commands(
        self,
        parser: argparse.ArgumentParser,
        kind: str,
        commands: Mapping[str, str],
        words: Sequence[str],
        prefix: str = "",
    ) -> None:
        """A parser for each command, complete only for the one that the words begin with."""
        parsers = parser.add_subparsers(dest=kind, required=True, metavar=kind.upper())
        for name, line in commands.items():
            if list(words[:1]) != [name]:
                parsers.add_parser(name, help=line)
                continue
            place = prefix + name.replace("-", "_")
            module = import_module(f"{self._package}.{place}")
            command = parsers.add_parser(
                name,
                help=line,
                formatter_class=argparse.RawDescriptionHelpFormatter,
                **getattr(module, "PAGE", {}),
            )
            if hasattr(module, "ACTIONS"):
                self._add_commands(command, "action", module.ACTIONS, words[1:], f"{place}_")
            else:
                module.add_arguments(command)
                command.set_defaults(run=module.run)
