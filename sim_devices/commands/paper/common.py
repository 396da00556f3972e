"""What the commands about the paper share: seed and form of the result."""

from __future__ import annotations

import argparse
import json
from typing import Any

from sim_devices.commands.options import whole


def add_common(parser: argparse.ArgumentParser) -> None:
    """Seed and form of the result."""
    parser.add_argument(
        "--seed", type=whole, default=1, help="names all random streams (default 1)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def show(result: dict[str, Any], as_json: bool) -> None:
    """Print a result: one object for programs, a line for each entry for people."""
    if as_json:
        print(json.dumps(result))
        return
    width = max(len(key) for key in result)
    for key, value in result.items():
        print(f"{key:<{width}}  {value}")
