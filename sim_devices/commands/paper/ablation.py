"""`fsir-sim ablation`: what each part contributes."""

from __future__ import annotations

import argparse

from sim_devices.commands.paper.common import add_common, show
from sim_devices.paper.ablation import ablation
from sim_devices.paper.cells import ExperimentError

PAGE = {
    "description": "Run the low-dimensional cells with one part of the default release changed at "
    "a time."
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--reps", type=int, default=10, help="replications")
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    """Run all variants."""
    if options.reps < 1:
        raise ExperimentError("--reps must be at least 1")
    show(dict(ablation(options.reps, options.seed)), options.json)
    return 0
