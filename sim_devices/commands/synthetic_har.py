"""`fsir-sim synthetic-har`: invented people."""

from __future__ import annotations

import argparse
import sys

from sim_devices.commands.options import add_federation
from sim_devices.commands.people import add_people, chosen_of, run_people, volunteer_of
from sim_devices.commands.trust import add_trust
from sim_devices.cores import one_thread_each
from sim_devices.meanwhile import loading

FIRST = "person-01"
PAGE = {"description": "invented people with a phone, no download"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_federation(parser)
    add_trust(parser)
    add_people(parser)


def run(options: argparse.Namespace) -> int:
    """Run it."""
    one_thread_each()
    if sys.stderr.isatty():
        print(
            "inventing people, their signals and 561 features of each window ...", file=sys.stderr
        )
    from sim_devices.commands.trust.setting import delta_of, setting_of
    from sim_devices.scenarios import scenarios

    devices = options.devices
    levels = not options.six
    volunteer = volunteer_of(options, FIRST)
    chosen = chosen_of(options)
    begun = None
    if volunteer == FIRST and chosen is None:
        setting = setting_of(options, devices, delta_of(options), options.mechanism, None)
        begun = scenarios.first_proposal(devices, options.windows, levels, options.seed, setting)
    with loading("sim_devices.commands.running", "matplotlib.pyplot"):
        scenario = scenarios.synthetic_har(
            devices, options.windows, levels, volunteer, options.seed, chosen, begun
        )
    return run_people(options, scenario, paper_first=False)
