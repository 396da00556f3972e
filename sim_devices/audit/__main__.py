"""`python -m sim_devices.audit audit|attack ...`: two commands without the rest of `fsir-sim`."""

from __future__ import annotations

import argparse
import sys

from fsir.errors import FsirError
from fsir.net.program import MISTAKE
from sim_devices.commands.registry import add_commands


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="python -m sim_devices.audit")
    add_commands(parser.add_subparsers(required=True), ("audit", "attack"), given)
    options = parser.parse_args(given)
    try:
        return int(options.run(options))
    except FsirError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKE


if __name__ == "__main__":
    sys.exit(main())
