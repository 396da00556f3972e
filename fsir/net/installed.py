"""What is installed here: the version, and what to install where something is missing."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DISTRIBUTION = "fsir-edge"
OURS = ("fsir", "edge_agent", "aggregator", "sim_devices")
_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def version() -> str:
    """The version, which is written in pyproject.toml alone.

    It is looked up when somebody asks: the reader of metadata is slow to import on a small device.
    """
    import tomllib
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pass
    try:  # not installed: this is a clone
        return str(tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["version"])
    except (OSError, ValueError, KeyError):
        return "of unknown version"


def how_to_install(extra: str = "") -> str:
    """What to type to get the packages of an extra.

    >>> how_to_install("sim")
    "pip install 'fsir-edge[sim]' (or, in a clone of the project: pip install '.[sim]')"
    """
    which = f"[{extra}]" if extra else ""
    return (
        f"pip install '{DISTRIBUTION}{which}' "
        f"(or, in a clone of the project: pip install '.{which}')"
    )


def require(package: str) -> None:
    """Raise now what a later import would, before hours of work depend on it."""
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def is_foreign(missing: ModuleNotFoundError) -> bool:
    """Whether it is a package of somebody else that is missing, and not a module of ours."""
    return bool(missing.name) and str(missing.name).partition(".")[0] not in OURS


class VersionAction(argparse.Action):
    """`--version`: say it and leave."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        words = "show the version and leave"
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help=words)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Print the program's name and the version."""
        print(f"{parser.prog} {version()}")
        parser.exit()
