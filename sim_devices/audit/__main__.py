"""`python -m sim_devices.audit audit|attack ...`: the two commands without the rest of
`fsir-sim`."""

from __future__ import annotations

import argparse
import sys

from fsir.errors import FsirError
from sim_devices.audit.cli import add_parsers


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m sim_devices.audit")
    add_parsers(parser.add_subparsers(required=True))
    namespace = parser.parse_args(arguments)
    try:
        code: int = namespace.run(namespace)
    except FsirError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
