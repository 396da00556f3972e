"""`fsir-sim fetch`: download the UCI HAR archive."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sim_devices.datasets.fetch import fetch_har

PAGE: dict[str, Any] = {}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("what", choices=["har"])
    parser.add_argument(
        "--to",
        type=Path,
        default=Path("data"),
        metavar="DIR",
        help="where to (default %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Download and check."""
    archive = fetch_har(options.to)
    print(f"{archive}\nnow: fsir-sim har --data {options.to}")
    return 0
