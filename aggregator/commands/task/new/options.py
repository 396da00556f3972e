"""The options of `fsir-aggregator task new`, in groups that say what a task is made of."""

from __future__ import annotations

import argparse

from aggregator.tasks.reports.reporting import RECORDS
from aggregator.tasks.slices import SLICES
from aggregator.tasks.wishes import DELTA, PROVEN
from fsir.task.secure import ROLES
from fsir.task.task import MECHANISMS, NOISES, SECURE, TRIMMED

DEVICES = 20  # expected, if nobody says how many
COHORT = 20  # if nobody says how many
LOCAL = "local"
AGGREGATIONS = {"exact": "sum", TRIMMED: TRIMMED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sample, and what it cannot tell."""
    _add_sample(parser.add_argument_group("the sample (data that are public already)"))
    _add_slices(parser.add_argument_group("the response (classes, or a number cut into slices)"))
    _add_reports(parser.add_argument_group("the devices (how many, and when each one reports)"))
    _add_rounds(parser.add_argument_group("rounds (a stream goes on after the first report)"))
    _add_privacy(parser.add_argument_group("privacy (what a device may give away in all)"))
    _add_way(parser.add_argument_group("the way (what devices report about)"))
    _add_task(parser.add_argument_group("the task"))


def _add_sample(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--sample", required=True, metavar="CSV", help="a table with a header line (or .csv.gz)"
    )
    group.add_argument(
        "--response", required=True, metavar="COLUMN", help="what is to be explained"
    )
    group.add_argument(
        "--features", metavar="A,B,...", help="columns to use (default: all that hold numbers)"
    )
    group.add_argument(
        "--by", metavar="COLUMN", help="who each record is of; it is never a feature"
    )
    group.add_argument(
        "--keep",
        type=int,
        metavar="K",
        help="of these the K that together tell the slices of the sample apart best",
    )


def _add_slices(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--classes",
        action="store_true",
        help="every value is a class, also of a number (default: of words and few whole numbers)",
    )
    group.add_argument(
        "--slices",
        type=int,
        metavar="H",
        help=f"so many, with about as many records each (default, of a number: {SLICES})",
    )
    group.add_argument(
        "--cuts", metavar="A,B,...", help="between these numbers; write --cuts=-1,2 below 0"
    )


def _add_reports(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--devices",
        type=int,
        metavar="K",
        help=f"expected (default {DEVICES}, or those that --records-per-device lets report)",
    )
    group.add_argument(
        "--records",
        type=int,
        metavar="N",
        help="of each report, labelled or not: a device that is offered fewer never reports "
        f"(default {RECORDS}, or with --plain what keeps the noise tolerable: a guess)",
    )
    group.add_argument(
        "--records-per-device",
        metavar="N,N,...|FILE",
        help="what each device has: proposes --records so that two in three can report",
    )
    group.add_argument(
        "--sigma-0",
        type=float,
        metavar="NOISE",
        help="instead of --records, with --plain: the fewest that keep the noise of a mean over "
        "the report below this; with --deadline: the fewest that may be reported",
    )
    group.add_argument(
        "--deadline",
        metavar="TIME",
        help="report then with all there is, at most --records: 2026-12-01T00:00:00Z",
    )
    group.add_argument(
        "--max-delay",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="a report leaves after a random delay of up to this (default 0)",
    )
    group.add_argument(
        "--presence", action="store_true", help="devices say when they are connected"
    )


def _add_rounds(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--rounds",
        type=int,
        default=1,
        metavar="T",
        help="reports of each device, each about its next --records (default 1: publish once)",
    )
    group.add_argument(
        "--every",
        type=float,
        metavar="SECONDS",
        help="from one report of a device to its next at least; 86400 is a day",
    )
    group.add_argument(
        "--start",
        metavar="TIME",
        help="with --every: rounds are numbered by the clock from then on, and those that a "
        "device misses are skipped",
    )
    group.add_argument(
        "--noise",
        choices=NOISES,
        help="of several rounds (default: correlated, which cancels in totals)",
    )
    group.add_argument(
        "--memory",
        metavar="HOW",
        help="of the estimate: auto, all, window=W or decay=HALF_LIFE rounds (default: auto)",
    )


def _add_privacy(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--epsilon", type=float, default=1.0, help="total budget of a device (default %(default)s)"
    )
    group.add_argument(
        "--delta", type=float, default=DELTA, help="what is left beside it (default %(default)s)"
    )
    group.add_argument(
        "--unit-records", type=int, default=1, metavar="G", help="records protected together"
    )
    group.add_argument(
        "--mechanism",
        default=PROVEN,
        choices=MECHANISMS,
        help="of the noise; only %(default)s is proven",
    )
    group.add_argument(
        "--trust",
        default=LOCAL,
        choices=(LOCAL, SECURE),
        help="local: each device adds all of the noise, and trusts nobody; secure: two aggregators "
        "open sums, with less noise, and one of them must be honest (default: %(default)s)",
    )
    for role in ROLES:
        group.add_argument(
            f"--{role}",
            metavar="NAME:KEY",
            help=f"the {role}: the line that its `keys new` has printed",
        )
    group.add_argument(
        "--cohort",
        type=int,
        metavar="M",
        help=f"devices that are opened together, at least (default {COHORT}, or --devices)",
    )
    group.add_argument(
        "--groups",
        type=int,
        default=1,
        metavar="G",
        help="opened one by one and trimmed, which bounds what lying devices can do "
        "(default: %(default)s)",
    )


def _add_way(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--coordinates",
        type=int,
        metavar="Q",
        help="numbers that the map turns a record into (default: as many as the noise lets use)",
    )
    group.add_argument(
        "--plain",
        "--no-map",
        action="store_true",
        help="no [public] section: no map, and no rehearsal",
    )
    group.add_argument(
        "--screening",
        metavar="HOW",
        help="with --plain: dense or votes, with fields as in docs/task.md "
        "(votes,threshold=0.2,quorum=20), or off (default: dense, with more than 64 features)",
    )


def _add_task(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--name", metavar="NAME", help="default: from the file name")
    group.add_argument(
        "--epoch", type=int, default=1, metavar="E", help="higher, to repeat it with fresh records"
    )
    group.add_argument(
        "--dimension", default="auto", metavar="D", help="directions to find (default: %(default)s)"
    )
    group.add_argument(
        "--aggregation",
        default="exact",
        choices=AGGREGATIONS,
        help="trimmed bounds what lying devices can do (default: %(default)s)",
    )
    group.add_argument("--output", metavar="FILE", help="default: standard output")
