"""`fsir-sim`: federations on this machine, with the real agent and the real aggregator."""

from __future__ import annotations

import argparse
import sys

from fsir.errors import FsirError
from fsir.net.program import INTERRUPTED, MISTAKE
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
  fsir-sim model --model III --devices 50 --epsilon 1
  fsir-sim fleet --devices 5000 --dropout 0.1 --crash 0.05
  fsir-sim audit --mechanism vgm --pair C --epsilon 1 --json
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the status that the shell gets."""
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(options.run(options))
    except FsirError as error:
        print(f"fsir-sim: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print("fsir-sim: stopped", file=sys.stderr)
        return INTERRUPTED


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "fsir-sim",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_commands(parsers, COMMANDS, arguments)
    return parser.parse_args(arguments)
