"""Options that several commands have, written once."""

from __future__ import annotations

import argparse
import os

_POLICY = (
    "the owner's policy, a TOML file; without one: total epsilon 2 at delta 1e-6, "
    "proven mechanisms only"
)


def add_policy(parser: argparse._ActionsContainer) -> None:
    """--policy."""
    parser.add_argument("--policy", metavar="FILE", help=_POLICY)


_STATE = "default: $FSIR_STATE, $STATE_DIRECTORY, $XDG_STATE_HOME/fsir or ~/.local/state/fsir"


def add_state(
    parser: argparse._ActionsContainer, what: str = "the state directory of the agent"
) -> None:
    """--state."""
    parser.add_argument(
        "--state", default=default_state(), metavar="DIR", help=f"{what} ({_STATE})"
    )


def default_state() -> str:
    """Where the memory of the device is: where its owner says, or else where the system says.

    A service gets $STATE_DIRECTORY from systemd; of several places the first one is taken.
    """
    if named := os.environ.get("FSIR_STATE") or os.environ.get("STATE_DIRECTORY", "").split(":")[0]:
        return named
    home = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(home):  # one that is not means nothing, says its specification
        home = os.path.expanduser("~/.local/state")
    return os.path.join(home, "fsir")


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")


def add_ranges(parser: argparse._ActionsContainer) -> None:
    """--acc-range and --gyro-range."""
    parser.add_argument(
        "--acc-range", type=float, metavar="G", help="full scale of the accelerometer, if not known"
    )
    parser.add_argument("--gyro-range", type=float, metavar="RAD/S", help="and of the gyroscope")
