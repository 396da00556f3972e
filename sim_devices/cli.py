"""`fsir-sim`: federations on this machine, with the real agent and the real aggregator."""

from __future__ import annotations

import argparse
import sys

from fsir.net.installed import VersionAction
from fsir.net.program import guarded
from sim_devices.commands.registry import COMMANDS, add_commands

_ABOUT = (
    "The command `fsir-sim`: federations on this machine, over real MQTT, "
    "with the real agent and aggregator."
)
_EXAMPLES = """\
examples:
  fsir-sim demo                                        \
invented people, everything embedded, a picture at the end
  fsir-sim har --data ../shared/data/uci_har --epsilon 1 --json
  fsir-sim har --compare                               none, gaussian, iid and vgm side by side
  fsir-sim csv steps.csv --response activity --by person --fast
  fsir-sim model --model III --devices 50 --epsilon 1
  fsir-sim fleet --devices 5000 --dropout 0.1 --crash 0.05
  fsir-sim audit --mechanism vgm --pair C --epsilon 1 --json
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the status that the shell gets."""
    given = sys.argv[1:] if arguments is None else arguments
    return guarded("fsir-sim", lambda: _run(given), "sim")


def _run(arguments: list[str]) -> int:
    options = _parse(arguments)
    return int(options.run(options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "fsir-sim",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=VersionAction)
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_commands(parsers, COMMANDS, arguments)
    return parser.parse_args(arguments)
