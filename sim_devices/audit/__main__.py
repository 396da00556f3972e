"""`python -m sim_devices.audit audit|attack ...`: two commands without the rest of `fsir-sim`."""

from __future__ import annotations

import argparse
import sys

from fsir.net.program import guarded
from sim_devices.commands.registry import add_commands


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    return guarded("python -m sim_devices.audit", lambda: _run(given), "sim")


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m sim_devices.audit")
    add_commands(parser.add_subparsers(required=True), ("audit", "attack"), arguments)
    options = parser.parse_args(arguments)
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
