"""`fsir-aggregator task new`: a commented task file from a sample of public data."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
import tomllib
from pathlib import Path

from aggregator.tasks.draft import DELTA, Wishes, draft
from aggregator.tasks.draft_public import RECORDS, draft_public, reasons_in_words
from aggregator.tasks.sample import Sample, read_sample
from aggregator.tasks.slices import slice_response, slices_with_centres
from fsir.contract import task_from_table
from fsir.errors import FsirError
from fsir.proposal.constants import Expectation
from fsir.proposal.proposal import propose

PAGE = {
    "description": """\
Write a commented task file from a sample of PUBLIC data (a volunteer, a published set; never from \
a device): a CSV file
with a header, numbers in all columns except perhaps the response. The classes come from the \
sample (a response of words
or of few whole numbers), or cut points at its quantiles. Rows without a response are left out. \
Columns that hold no
numbers, miss values in more than 5% of the rows, never change or repeat another one are left out \
by name; where fewer
values are missing, their rows are.

The task carries what the sample knows of its classes, and a public map (docs/task.md): devices \
then report how far the
sample is wrong, in one report about as many numbers as the noise of the expected devices allows. \
Map, clip and split of
the budget are chosen by rehearsing the federation on the sample. If it is of several people, say \
by --by which record is
of whom: the rehearsal then tells how well one person's data serve another. Read the file before \
you use it: everything
in it will be public, and devices that have accepted it accept no other.

With --plain the task knows nothing but centres, scales and a clip: for samples that are unlike \
the devices' records in
what tells classes apart. Then, with more than 64 features, devices send two reports, the first of \
which is about all
features and chooses a few of them, through a lot of noise. With --keep K the sample chooses.
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sample, and what it cannot tell."""
    _add_sample(parser)
    _add_wishes(parser)
    parser.add_argument(
        "--plain", action="store_true", help="no [public] section: no map, and no rehearsal"
    )
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
        "--by", metavar="COLUMN", help="who each record is of; it is never a feature"
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
        "--devices", type=int, default=20, metavar="K", help="expected (default %(default)s)"
    )
    parser.add_argument(
        "--records",
        type=int,
        metavar="N",
        help=f"per report (default {RECORDS}: set it to what every device will have; "
        "with --plain, what keeps the noise tolerable)",
    )


def run(args: argparse.Namespace) -> int:
    """Read the sample, write the task."""
    for option in ("devices", "records", "unit_records"):
        value = getattr(args, option)
        if value is not None and value < 1:
            name = option.replace("_", "-")
            raise FsirError(f"--{name} {value}: give a whole number of at least 1")
    wanted = args.features.split(",") if args.features else None
    sample = read_sample(Path(args.sample), args.response, wanted, args.by)
    text, reasons = (_plain if args.plain else _public)(args, sample)
    task = task_from_table(tomllib.loads(text))  # what we write must be readable
    if args.output is None:
        sys.stdout.write(text)
    else:
        Path(args.output).write_text(text, encoding="utf-8")
    for name, reason in reasons:
        print(_listed(name, reason), file=sys.stderr)
    mapped = "" if task.public is None else f", mapped to {task.coordinates} coordinates"
    print(
        f"task {task.name!r}: {task.p} features{mapped}; "
        "now read it, then: fsir-aggregator task check",
        file=sys.stderr,
    )
    return 0


def _plain(args: argparse.Namespace, sample: Sample) -> tuple[str, list[tuple[str, str]]]:
    sliced = slice_response(sample.response, args.slices)
    reasons = [("left out", note) for note in sample.notes]
    if args.keep is not None:
        sample = sample.keep(sliced.slicing.slices_of(sample.response), args.keep)
    return draft(sample, sliced, _wishes(args)), reasons


def _public(args: argparse.Namespace, sample: Sample) -> tuple[str, list[tuple[str, str]]]:
    sample = sample.useful()
    sliced = slice_response(sample.response, args.slices)
    slices = slices_with_centres(sliced, sample.response)
    if args.keep is not None:
        sample = sample.keep(slices, args.keep)
    wishes = _wishes(args)
    expected = Expectation(
        devices=args.devices,
        records=args.records or RECORDS,
        epsilon=args.epsilon,
        delta=DELTA,
        unit_records=args.unit_records,
    )
    H = sliced.slicing.count
    proposal = propose(
        sample.X,
        slices,
        H,
        expected,
        sample.groups,
        _show_progress,
        numeric=not sliced.slicing.classes,
    )
    text = draft_public(sample, sliced, wishes, proposal)
    return text, reasons_in_words(sample, wishes, proposal)


def _wishes(args: argparse.Namespace) -> Wishes:
    return Wishes(
        name=args.name or _name(Path(args.sample)),
        response=args.response,
        epsilon=args.epsilon,
        unit_records=args.unit_records,
        records=args.records,
    )


def _show_progress(done: int, total: int) -> None:
    """A line that is written over and over; nothing where nobody watches."""
    if not sys.stderr.isatty():
        return
    text = f"rehearsing the federation on the sample: {done} of {total}"
    if done == total:
        text = " " * len(text) + "\r"
    print(f"\r{text}", end="", file=sys.stderr, flush=True)


def _listed(name: str, reason: str) -> str:
    """One reason of a list.

    >>> _listed("clip", "4.2: because")
    '  clip         4.2: because'
    """
    return textwrap.fill(
        reason,
        100,
        initial_indent=f"  {name:<13}",
        subsequent_indent=" " * 15,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _name(path: Path) -> str:
    """A name for a task, from that of its sample.

    >>> _name(Path("my public sample (2).csv"))
    'my-public-sample-2'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._")[:64] or "task"
