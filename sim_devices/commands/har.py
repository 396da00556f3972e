"""`fsir-sim har`: the people of UCI HAR."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_devices.commands.options import add_federation
from sim_devices.commands.people import AUTO, add_person, chosen_of, run_people, volunteer_of
from sim_devices.commands.trust import add_trust

PAGE = {"description": "UCI HAR: 21 people as devices, 9 unseen"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_federation(parser)
    add_trust(parser)
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help="archive, its folder or the npz (default: FSIR_DATA)",
    )
    add_person(parser)


def run(options: argparse.Namespace) -> int:
    """Run it. With a unit of one record, no centre is needed and nobody has to volunteer."""
    from sim_devices.scenarios import scenarios

    easy = options.unit_records == 1 and not options.six and not options.choose
    volunteer = volunteer_of(options, "subject-01")
    if options.volunteer == AUTO and easy:
        volunteer = None
    scenario = scenarios.har(options.data, not options.six, volunteer, chosen_of(options))
    return run_people(options, scenario, paper_first=True)
