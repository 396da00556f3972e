"""`fsir-sim figures`: the paper's curves, and the flights."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fsir.net.files import writing
from sim_devices.commands.options import picture_folder
from sim_devices.commands.paper.common import add_common, show
from sim_devices.paper import figures
from sim_devices.paper.cells import ExperimentError

PAGE = {
    "description": "Privacy cost against n on one client; angle against the number of clients; "
    "flights. Writes SVG, PNG and CSV."
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--which", choices=("cost", "clients", "flights", "all"), default="all")
    parser.add_argument("--reps", type=int, default=40, help="replications of the curves")
    parser.add_argument("--seeds", type=int, default=20, help="runs on the flights")
    parser.add_argument("--epsilon", type=float, default=1.0, help="of the flights")
    parser.add_argument("--out", type=Path, default=Path("fsir-figures"), help="folder")
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    """Draw the figures."""
    if min(options.reps, options.seeds) < 2:
        raise ExperimentError("--reps and --seeds must be at least 2")
    out = picture_folder(options.out)
    with writing("--out", out):
        result = _drawn(options, out)
    show(result, options.json)
    return 0


def _drawn(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if options.which in ("cost", "all"):
        result["cost"] = figures.cost(options.reps, options.seed, out)
    if options.which in ("clients", "all"):
        result["clients"] = figures.clients(options.reps, options.seed, out)
    if options.which in ("flights", "all"):
        result["flights"] = figures.flights(options.seeds, options.seed, options.epsilon, out)
    return result
