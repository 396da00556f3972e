"""Options that several commands have, written once."""

from __future__ import annotations

import argparse

_POLICY = (
    "the owner's policy, a TOML file; without one: total epsilon 2 at delta 1e-6, "
    "proven mechanisms only"
)


def add_policy(parser: argparse._ActionsContainer) -> None:
    """--policy."""
    parser.add_argument("--policy", metavar="FILE", help=_POLICY)


def add_state(parser: argparse.ArgumentParser) -> None:
    """--state, of an agent that has run."""
    parser.add_argument(
        "--state", required=True, metavar="DIR", help="the state directory of the agent"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")


def add_ranges(parser: argparse._ActionsContainer) -> None:
    """--acc-range and --gyro-range."""
    parser.add_argument(
        "--acc-range", type=float, metavar="G", help="full scale of the accelerometer, if not known"
    )
    parser.add_argument("--gyro-range", type=float, metavar="RAD/S", help="and of the gyroscope")
