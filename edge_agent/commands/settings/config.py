"""`fsir-agent run -c agent.toml`: the options of the command line, in a file.

A key is the long name of an option, with - or _. The command line wins, a repeated option too: what
it names takes the place of the file's list. A path in the file is relative to the file's folder,
and may begin with ~, wherever the agent is started.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edge_agent.commands.settings.tasks import is_file
from fsir.errors import FsirError, TaskError
from fsir.fields import Table

_NO_KEYS = ("help", "config")
_PATHS = ("FILE", "DIR")  # what the help calls a path
_FILES = ("csv", "jsonl", "signals", "unix")  # before the path, in `--source` and `--output`


class _FromFile(list[Any]):
    """A list that argparse does not add to: its `append` begins with a copy of the default."""

    def __copy__(self) -> list[Any]:
        return []


def add_config(parser: argparse.ArgumentParser) -> None:
    """-c."""
    parser.add_argument(
        "-c",
        "--config",
        metavar="FILE",
        help="any of these options in a TOML file, by their long names, for example broker = "
        '"mqtts://host"; paths in it are relative to it; the command line wins',
    )


def prepare(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Before the command line is read: make what the file says the default of each option."""
    first = argparse.ArgumentParser(add_help=False)
    add_config(first)
    path = first.parse_known_args(list(arguments))[0].config
    if path is None:
        return
    options = _options(parser)
    try:
        values = _read(Path(path), options)
    except TaskError as error:
        raise FsirError(f"config file {path}: {error}") from None
    for name, value in values.items():
        options[name].default = value
        options[name].required = False


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The options of a parser by their long names."""
    named = {
        option.removeprefix("--"): action
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--")
    }
    return {name: action for name, action in named.items() if name not in _NO_KEYS}


def _read(path: Path, options: Mapping[str, argparse.Action]) -> dict[str, Any]:
    table = Table(_loaded(path), "")
    values = {}
    for name, action in options.items():
        if table.has(name):
            value = _value(table, name, action)
            values[name] = _placed(value, name, action.metavar, path.parent)
        else:
            table.get(name, None)  # so that it is known to whoever has misspelt it
    table.done()
    return values


def _loaded(path: Path) -> dict[str, Any]:
    import tomllib  # most runs read no such file

    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except OSError as error:
        raise FsirError(
            f"config file {path}: {error.strerror}; give the path of a TOML file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FsirError(f"config file {path}: not valid TOML: {error}") from None
    named = {key.replace("_", "-"): value for key, value in values.items()}
    if len(named) < len(values):
        raise FsirError(f"config file {path}: a key is given twice, once with - and once with _")
    return named


def _value(table: Table, name: str, action: argparse.Action) -> Any:
    """What the option would hold if this stood on the command line."""
    if action.nargs == 0:
        return table.flag(name)
    if action.choices is not None:
        return table.choice(name, None, tuple(action.choices))
    if action.type is float:
        return table.number(name)
    if action.type is int:
        return table.whole(name)
    value = table.get(name)
    if isinstance(action, argparse._AppendAction):
        several = value if isinstance(value, list) else [value]
        return _FromFile(_text(table, name, one) for one in several)
    if action.type is not None:
        return _converted(table, name, action.type, value)
    return _text(table, name, value)


def _converted(table: Table, name: str, kind: Any, value: Any) -> Any:
    try:
        return kind(str(value))
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise table.error(name, value, str(error)) from None


def _text(table: Table, name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise table.wrong(name, value, "a text in quotes")
    return value


# --- paths ----------------------------------------------------------------------------------------


def _placed(value: Any, name: str, metavar: Any, folder: Path) -> Any:
    """The value of an option, with its path, if it is one, as seen from anywhere."""
    if isinstance(value, _FromFile):
        return _FromFile(_placed(one, name, metavar, folder) for one in value)
    if not isinstance(value, str):
        return value
    if metavar in _PATHS:
        return _path(value, folder)
    if name == "task":
        return path if is_file(path := _path(value, folder)) else value
    scheme, colon, rest = value.partition(":")
    if colon and scheme in _FILES and rest != "-":
        return f"{scheme}:{_path(rest, folder)}"
    return _path(value, folder) if name == "output" and not colon and value != "-" else value


def _path(text: str, folder: Path) -> str:
    return os.path.join(folder, os.path.expanduser(text))
