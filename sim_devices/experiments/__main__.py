"""`python -m sim_devices.experiments table ...`: the experiments without the rest of `fsir-sim`."""

from __future__ import annotations

import argparse
import sys

from sim_devices.experiments.cli import add_parsers


def main(arguments: list[str] | None = None) -> int:
    """Run one experiment."""
    parser = argparse.ArgumentParser(prog="fsir-sim")
    add_parsers(parser.add_subparsers(required=True))
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
