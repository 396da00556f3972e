"""`fsir-sim demo`: invented people, or the real ones where their data are."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_devices.commands import har, synthetic_har
from sim_devices.commands.options import add_federation
from sim_devices.commands.people import add_people
from sim_devices.commands.trust import add_trust

WINDOWS = 400  # of each invented person: what ten seconds allow (docs/simulator.md)
# What the federation adds depends on who volunteers. Of the seeds 1 to 9 this is the one that lies
# nearest to their mean; docs/simulator.md has all nine.
SEED = 2
PAGE = {"description": "the demonstration that `make demo` runs"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_federation(parser)
    add_trust(parser)
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="the real UCI HAR set instead of invented people"
    )
    add_people(parser, windows=WINDOWS, six=True)
    parser.set_defaults(seed=SEED)


def run(options: argparse.Namespace) -> int:
    """Run it."""
    return synthetic_har.run(options) if options.data is None else har.run(options)
