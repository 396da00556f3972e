"""`fsir-agent features`: a recording as the records that an agent would learn from.

It is for its owner's eyes, and nothing is sent. Whoever volunteers such a table as a public sample
of a task gives all of it away.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TextIO

from edge_agent.commands.settings.options import add_ranges
from edge_agent.errors import SourceError, StorageError
from edge_agent.records import START, Record
from edge_agent.signal.features import FEATURE_NAMES
from edge_agent.sources.base import Options
from edge_agent.sources.recording import open_recording
from edge_agent.sources.windowed import SignalSource

PAGE = {
    "description": """\
Write the records that an agent would learn from a recording (`--source signals:FILE`) as a CSV \
table: 561 features of
each window of 2.56 s, scaled to [-1, 1], and its label. Nothing leaves the device. It is for your \
own eyes, or, if you
volunteer it, the PUBLIC sample of a task: `fsir-aggregator task new --sample` takes features, \
centre and clip from it.

  fsir-agent features walk.csv --acc-range 8 --gyro-range 34.9 --output sample.csv
"""
}
MOST_AT_ONCE = 64  # records that are asked for


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The recording, the scales of its sensors, and where the table goes."""
    parser.add_argument(
        "recording", metavar="FILE", help="a table with time, acc_x, ..., gyro_z, and label"
    )
    add_ranges(parser)
    parser.add_argument(
        "--response",
        default="activity",
        metavar="NAME",
        help="how the column with the labels is called (default %(default)s)",
    )
    parser.add_argument("--output", metavar="FILE", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    """Write a table with one line for each window."""
    if args.response in FEATURE_NAMES:
        raise SourceError(
            f"--response {args.response}: a feature has this name; "
            "choose another one for the labels"
        )
    options = Options(acc_range=args.acc_range, gyro_range=args.gyro_range)
    with closing(open_recording(args.recording, options)) as source:
        try:
            with nullcontext(sys.stdout) if args.output is None else _created(args.output) as file:
                written, labelled = _write(source, args.response, file)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StorageError(
                f"--output {args.output or '-'}: {error.strerror}; the table is not complete"
            ) from None
    print(f"{written} records, {labelled} of them with a label", file=sys.stderr)
    return 0


def _created(path: str) -> TextIO:
    return Path(path).open("w", newline="", encoding="utf-8")


def _write(source: SignalSource, response: str, file: TextIO) -> tuple[int, int]:
    table = csv.writer(file)
    table.writerow([*FEATURE_NAMES, response])
    written = 0
    labelled = 0
    for record in _records(source):
        table.writerow([*(f"{record.x[name]:.7g}" for name in FEATURE_NAMES), record.y or ""])
        written += 1
        labelled += bool(record.y)
    return written, labelled


def _records(source: SignalSource) -> Iterator[Record]:
    source.resume(START)
    while not source.ended:
        yield from source.poll(MOST_AT_ONCE)
