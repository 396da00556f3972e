"""`fsir-sim watch`: exercises with a smartwatch."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_devices.commands import running
from sim_devices.commands.options import add_federation
from sim_devices.commands.people import MAPPED, add_volunteer, volunteer_of
from sim_devices.commands.trust import add_trust
from sim_devices.commands.trust.setting import delta_of
from sim_devices.scenarios import scenarios

PAGE = {"description": "shoulder exercises with a smartwatch (package seglearn)"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_federation(parser)
    add_trust(parser)
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="another copy of watch_dataset.npy"
    )
    add_volunteer(parser)


def run(options: argparse.Namespace) -> int:
    """Run it."""
    mapped = options.mechanism in MAPPED
    volunteer = volunteer_of(options, "person-01") if mapped else None
    scenario = scenarios.watch(options.data, volunteer)
    return running.run(options, scenario, [delta_of(options)])
