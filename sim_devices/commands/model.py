"""`fsir-sim model`: one of the paper's five models."""

from __future__ import annotations

import argparse

from sim_devices.commands import running
from sim_devices.commands.options import add_federation, positive
from sim_devices.commands.trust import add_trust
from sim_devices.commands.trust.setting import delta_of
from sim_devices.datasets.models import MODELS
from sim_devices.scenarios import scenarios

PAGE = {"description": "one of the paper's five models, p = 10"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_federation(parser)
    add_trust(parser)
    parser.add_argument(
        "--model", choices=MODELS, default="III", help="which one (default %(default)s)"
    )
    parser.add_argument(
        "--devices", type=positive, default=20, help="how many (default %(default)s)"
    )
    parser.add_argument(
        "--records", type=positive, default=1000, help="per device (default %(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Run it."""
    scenario = scenarios.model(options.model, options.devices, options.records, 10, options.seed)
    return running.run(options, scenario, [delta_of(options)])
