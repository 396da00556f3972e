"""The options that say where served records go, and which of them go together."""

from __future__ import annotations

import argparse

from edge_agent.errors import SourceError
from edge_agent.output.local import OWNER_ONLY

HOME = "mqtt:"
LOCAL = "unix:"
_LONGEST_TOPIC = 200  # characters
# Options of one kind of output: given without it, their owner would believe that they work.
_FITS = {
    "output_broker": HOME,
    "output_username": HOME,
    "output_password_file": HOME,
    "output_ca": HOME,
    "output_mode": LOCAL,
    "output_group": LOCAL,
}


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """--output, and what belongs to it."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "--output",
        action="append",
        metavar="WHERE",
        help="served records as JSON lines: - (standard output, the default), a file, or "
        "unix:PATH; mqtt:TOPIC tells your home, Home Assistant for example. May be given more "
        "than once",
    )
    output.add_argument(
        "--output-broker",
        metavar="URL",
        help="the broker of mqtt:TOPIC, one of your own and never the task's",
    )
    output.add_argument("--output-username", metavar="NAME")
    output.add_argument(
        "--output-password-file", metavar="FILE", help="or the variable FSIR_OUTPUT_PASSWORD"
    )
    output.add_argument("--output-ca", metavar="FILE")
    output.add_argument(
        "--output-mode", metavar="MODE", help="who may connect to unix:PATH (default 0600)"
    )
    output.add_argument("--output-group", metavar="NAME", help="and the group that it belongs to")


def addresses(args: argparse.Namespace) -> list[str]:
    """Where served records go."""
    return args.output or ["-"]


def mode(args: argparse.Namespace) -> int:
    """The permissions of a socket."""
    return OWNER_ONLY if args.output_mode is None else int(args.output_mode, 8)


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other, before anything is opened."""
    where = addresses(args)
    if len(set(where)) < len(where):
        raise SourceError(f"--output {' '.join(where)}: name each output once")
    for option, kind in _FITS.items():
        if getattr(args, option) and not any(one.startswith(kind) for one in where):
            flag = option.replace("_", "-")
            raise SourceError(f"--{flag} means nothing without --output {kind}...; leave it out")
    for one in where:
        if one.startswith(HOME):
            _check_home(one, args.output_broker)
    _check_mode(args.output_mode)


def _check_home(address: str, broker: str | None) -> None:
    topic = address.removeprefix(HOME)
    badly = set(topic) & set("+#\0") or not topic.isprintable() or topic[:1] == "$"
    if badly or not topic.strip("/") == topic != "" or len(topic) > _LONGEST_TOPIC:
        raise SourceError(
            f"--output {address}: write mqtt:TOPIC with the topic under which your home is told, "
            "for example mqtt:fsir/kitchen"
        )
    if broker is None:
        raise SourceError(
            f"--output {address}: what you are doing does not belong on the federation's broker; "
            "give the broker of your own that your home listens to: --output-broker mqtt://HOST"
        )


def _check_mode(text: str | None) -> None:
    if text is None:
        return
    octal = len(text) <= 4 and text != "" and set(text) <= set("01234567")
    if not octal or not 0o600 <= int(text, 8) <= 0o777 or int(text, 8) & 0o600 != 0o600:
        raise SourceError(
            f"--output-mode {text}: give an octal number, for example 0660 for you and a group"
        )
