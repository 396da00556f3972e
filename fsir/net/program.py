"""What every program does around its commands: one file a command, errors in one line, a quiet end.

A command is a module of the program's package `commands`, named like the command (`try_` for `try`,
which is a word of Python). It has

    PAGE = {"description": ...}          # further arguments of its parser; may be missing
    def add_arguments(parser): ...
    def prepare(parser, arguments): ...  # change defaults before they are parsed; may be missing
    def run(args) -> int: ...            # the exit code

A command with actions of its own, such as `task new`, has instead

    ACTIONS = {"new": "its line in the help of `task`"}

and each action is a module like that of a command, here `task.new`. Only the modules that were
asked for are imported: devices are small.
"""

from __future__ import annotations

import argparse
import errno
import keyword
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from fsir.errors import FsirError
from fsir.net.installed import VersionAction, how_to_install, is_foreign

MISTAKE = 2  # exit code: the settings are wrong, the last line says which
INTERRUPTED = 130
_EXTRAS = {"cryptography": "secure"}  # what another extra than the program's own brings
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def guarded(name: str, action: Callable[[], int], extra: str = "") -> int:
    """The exit code of a program's action; what it raises on purpose becomes one line.

    So does a package that is not installed here, and that the program's `extra` would bring.
    """
    try:
        code = action()
        sys.stdout.flush()  # what the disk has no room for should be missed here, and not later
        return code
    except FsirError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return MISTAKE
    except ModuleNotFoundError as missing:
        if not is_foreign(missing):
            raise
        needed = f"this needs the package {missing.name}, which is not installed here"
        extra = _EXTRAS.get(str(missing.name).partition(".")[0], extra)
        print(f"{name}: {needed}: {how_to_install(extra)}", file=sys.stderr)
        return MISTAKE
    except BrokenPipeError:  # `... | head` has seen enough
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        with suppress(OSError):  # or the interpreter would complain once more at its end
            sys.stdout.close()
        print(
            f"{name}: {error.strerror}: what it wrote is not complete; make room", file=sys.stderr
        )
        return MISTAKE
    except KeyboardInterrupt:
        print(f"{name}: stopped", file=sys.stderr)
        return INTERRUPTED


class Program:
    """A command line: `Program("fsir-agent", about, "edge_agent.commands", {"run": "take part"})`.

    `commands` maps the name of each command to its line in the help; `extra` is that of the package
    which brings what the program needs.
    """

    def __init__(
        self, name: str, about: str, package: str, commands: Mapping[str, str], extra: str = ""
    ) -> None:
        self._name = name
        self._about = about
        self._package = package
        self._commands = commands
        self._extra = extra

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options of the command; its function stands in `run`."""
        parser = argparse.ArgumentParser(
            prog=self._name,
            description=self._about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("--version", action=VersionAction)
        words = [word for word in arguments if not word.startswith("-")]
        self._add_commands(parser, "command", self._commands, words, arguments)
        return parser.parse_args(arguments)

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run the command line; returns the exit code."""
        given = sys.argv[1:] if arguments is None else arguments

        def run() -> int:
            args = self.parse(given)
            return int(args.run(args))

        return self.guarded(run)

    def guarded(self, action: Callable[[], int]) -> int:
        """The exit code of an action; what it raises on purpose becomes one line."""
        return guarded(self._name, action, self._extra)

    def _add_commands(
        self,
        parser: argparse.ArgumentParser,
        kind: str,
        commands: Mapping[str, str],
        words: Sequence[str],
        arguments: Sequence[str],
        prefix: str = "",
    ) -> None:
        """A parser for each command, complete only for the one that the words begin with."""
        parsers = parser.add_subparsers(dest=kind, required=True, metavar=kind.upper())
        for name, line in commands.items():
            if list(words[:1]) != [name]:
                parsers.add_parser(name, help=line)
                continue
            place = prefix + _module(name)
            module = import_module(f"{self._package}.{place}")
            command = parsers.add_parser(
                name,
                help=line,
                formatter_class=argparse.RawDescriptionHelpFormatter,
                **getattr(module, "PAGE", {}),
            )
            if hasattr(module, "ACTIONS"):
                self._add_commands(
                    command, "action", module.ACTIONS, words[1:], arguments, f"{place}."
                )
            else:
                module.add_arguments(command)
                getattr(module, "prepare", _as_it_is)(command, arguments)
                command.set_defaults(run=module.run)


def _as_it_is(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """A command whose defaults depend on nothing."""


def _module(name: str) -> str:
    """The name of the module of a command."""
    return f"{name}_" if keyword.iskeyword(name) else name.replace("-", "_")
