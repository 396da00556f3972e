"""`fsir-sim hapt`: the recordings behind UCI HAR."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_devices.commands.options import add_federation
from sim_devices.commands.people import add_person, chosen_of, run_people, volunteer_of
from sim_devices.commands.trust import add_trust

PAGE = {"description": "the raw 50 Hz recordings behind UCI HAR, through the agent's own features"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_federation(parser)
    add_trust(parser)
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help="folder or npz of the recordings (default: FSIR_DATA)",
    )
    add_person(parser)


def run(options: argparse.Namespace) -> int:
    """Run it."""
    from sim_devices.scenarios import scenarios

    volunteer = volunteer_of(options, "subject-01")
    chosen = chosen_of(options, 0 if volunteer is None else scenarios.CHOSEN)
    scenario = scenarios.hapt(options.data, not options.six, volunteer, chosen)
    return run_people(options, scenario, paper_first=True)
