"""`fsir-aggregator task new`: a commented task file from a sample of public data."""

from __future__ import annotations

import argparse
import sys
import textwrap
import tomllib
from pathlib import Path

from aggregator.commands.task.new.options import DEVICES, add_arguments
from aggregator.commands.task.new.values import (
    asked_of,
    check,
    screening_fields,
    slices_of,
    wishes_of,
)
from aggregator.tasks.draft import clip_of, draft, screening_of
from aggregator.tasks.draft_public import draft_public
from aggregator.tasks.reports.reporting import RECORDS, TOLERATED, Guess, fewest_records, planned
from aggregator.tasks.sample import Sample, read_sample
from aggregator.tasks.slices import Answers, rarest, slice_response, slices_with_centres
from fsir.contract import task_from_table
from fsir.net.files import writing
from fsir.privacy.claims import statement
from fsir.proposal.constants import Expectation
from fsir.proposal.proposal import propose

__all__ = ["PAGE", "add_arguments", "run"]

Reasons = list[tuple[str, str]]  # what was chosen, and why

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


def run(args: argparse.Namespace) -> int:
    """Read the sample, write the task."""
    check(args)
    sample = read_sample(Path(args.sample), args.response, _wanted(args.features), args.by)
    text, reasons = (_plain if args.plain else _public)(args, sample)
    task = task_from_table(tomllib.loads(text))  # what we write must be readable
    if args.output is None:
        sys.stdout.write(text)
    else:
        with writing("--output", args.output):
            Path(args.output).write_text(text, encoding="utf-8")
    for name, reason in reasons:
        print(_listed(name, reason), file=sys.stderr)
    if not (known := statement(task)).proven:
        print(_listed("privacy", f"NOT PROVEN: {known.reason}"), file=sys.stderr)
    mapped = "" if task.public is None else f", mapped to {task.coordinates} coordinates"
    print(
        f"task {task.name!r}: {task.p} features{mapped}; "
        "now read it, then: fsir-aggregator task check",
        file=sys.stderr,
    )
    return 0


def _wanted(features: str | None) -> list[str] | None:
    return [name.strip() for name in features.split(",")] if features else None


def _plain(args: argparse.Namespace, sample: Sample) -> tuple[str, Reasons]:
    reasons = _remarks(sample)
    answers = Answers(args.response, sample.response, sample.lines)
    sliced = slice_response(answers, slices_of(args))
    if args.keep is not None:
        sample = sample.keep(sliced.slicing.slices_of(sample.response), args.keep)
    screening = screening_of(len(sample.names), screening_fields(args.screening))
    rounds = 2 if screening is not None and screening["records"] == "fresh" else 1
    label, share = rarest(sliced, answers)
    budget = (args.epsilon, args.delta, args.unit_records)
    guess = Guess(
        fewest_records(clip_of(sample), budget, share),
        f"which keep the noise of the mean of the rarest slice, {label!r}, {share:.1%} of the "
        f"sample, below {TOLERATED:g}",
    )
    wishes = wishes_of(args, planned(asked_of(args), guess, rounds))
    return draft(sample, sliced, wishes, screening), [*reasons, ("records", wishes.reports.why)]


def _public(args: argparse.Namespace, sample: Sample) -> tuple[str, Reasons]:
    sample = sample.useful()
    answers = Answers(args.response, sample.response, sample.lines)
    sliced = slice_response(answers, slices_of(args))
    slices = slices_with_centres(sliced, answers)
    if args.keep is not None:
        sample = sample.keep(slices, args.keep)
    guess = Guess(RECORDS, "because nobody has said")
    wishes = wishes_of(args, planned(asked_of(args), guess))
    expected = Expectation(
        devices=args.devices or wishes.reports.devices or DEVICES,
        records=wishes.reports.expected,
        epsilon=args.epsilon,
        delta=args.delta,
        unit_records=args.unit_records,
        cohort=None if wishes.secure is None else wishes.secure.cohort,
    )
    expected = wishes.rounds.expected(expected)
    proposal = propose(
        sample.X,
        slices,
        sliced.slicing.count,
        expected,
        sample.groups,
        _show_progress,
        numeric=not sliced.slicing.classes,
        coordinates=args.coordinates,
    )
    why = [*_remarks(sample), *proposal.why.items(), ("records", wishes.reports.why)]
    return draft_public(sample, sliced, wishes, proposal), why


def _remarks(sample: Sample) -> Reasons:
    return [
        *(("left out", note) for note in sample.notes),
        *(("rows", remark) for remark in sample.remarks),
    ]


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
