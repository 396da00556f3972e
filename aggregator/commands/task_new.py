"""`fsir-aggregator task new`: a commented task file from a sample of public data."""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path

from aggregator.tasks.draft import Wishes, draft
from aggregator.tasks.sample import read_sample, slice_response
from fsir.contract import task_from_table

PAGE = {
    "description": """\
Write a commented task file from a sample of PUBLIC data (a volunteer, a published set; never from \
a device): a CSV file
with a header, numbers in all columns except perhaps the response. Centre and scale come from the \
sample, and so do
the classes (a response of words or of few whole numbers) or cut points at its quantiles, and the \
clip. Rows without a
response are left out. Read the file before you use it: everything in it will be public, and \
devices that have accepted
it accept no other.

With more than 64 features devices send two reports, the first of which is about all features and \
chooses a few of them,
through a lot of noise. With --keep K the sample chooses, and one report is enough. That is far \
more accurate with few
devices, as long as what tells the classes of the sample apart does so for others too.
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sample, and what it cannot tell."""
    _add_sample(parser)
    _add_wishes(parser)
    parser.add_argument("--output", metavar="FILE", help="default: standard output")


def _add_sample(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sample", required=True, metavar="CSV", help="public data with a header line"
    )
    parser.add_argument(
        "--response", required=True, metavar="COLUMN", help="what is to be explained"
    )
    parser.add_argument(
        "--features", metavar="A,B,...", help="columns to use (default: all that hold numbers)"
    )
    parser.add_argument(
        "--keep",
        type=int,
        metavar="K",
        help="of these the K that together tell the slices of the sample apart best",
    )


def _add_wishes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", metavar="NAME", help="of the task (default: from the file name)")
    parser.add_argument(
        "--slices", type=int, default=8, metavar="H", help="of a number (default %(default)s)"
    )
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help="total budget of a device (default %(default)s)"
    )
    parser.add_argument(
        "--unit-records", type=int, default=1, metavar="G", help="records protected together"
    )
    parser.add_argument(
        "--records",
        type=int,
        metavar="N",
        help="per report (default: what keeps the noise tolerable)",
    )


def run(args: argparse.Namespace) -> int:
    """Read the sample, write the task."""
    text = _text(args)
    task = task_from_table(tomllib.loads(text))  # what we write must be readable
    if args.output is None:
        sys.stdout.write(text)
    else:
        Path(args.output).write_text(text, encoding="utf-8")
    print(
        f"task {task.name!r}: {task.p} features; now read it, then: fsir-aggregator task check",
        file=sys.stderr,
    )
    return 0


def _text(args: argparse.Namespace) -> str:
    wanted = args.features.split(",") if args.features else None
    sample = read_sample(Path(args.sample), args.response, wanted)
    sliced = slice_response(sample.response, args.slices)
    if args.keep is not None:
        sample = sample.keep(sliced.slicing.slices_of(sample.response), args.keep)
    wishes = Wishes(
        name=args.name or _name(Path(args.sample)),
        response=args.response,
        epsilon=args.epsilon,
        unit_records=args.unit_records,
        records=args.records,
    )
    return draft(sample, sliced, wishes)


def _name(path: Path) -> str:
    """A name for a task, from that of its sample.

    >>> _name(Path("my public sample (2).csv"))
    'my-public-sample-2'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._")[:64] or "task"
