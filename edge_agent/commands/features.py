"""`fsir-agent features`: a recording as the records that an agent would learn from, for its owner's eyes.

Nothing is sent. Whoever volunteers such a table as a public sample of a task gives all of it away.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TextIO

from edge_agent.errors import SourceError, StorageError
from edge_agent.records import START, Record
from edge_agent.signal.features import FEATURE_NAMES
from edge_agent.sources.base import Options
from edge_agent.sources.recording import open_recording
from edge_agent.sources.windowed import SignalSource

ROWS = 64  # at a time


def features(args: argparse.Namespace) -> int:
    """Write a table with one line for each window."""
    if args.response in FEATURE_NAMES:
        raise SourceError(
            f"--response {args.response}: a feature has this name; choose another one for the labels"
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
    written = labelled = 0
    for record in _records(source):
        table.writerow([*(f"{record.x[name]:.7g}" for name in FEATURE_NAMES), record.y or ""])
        written, labelled = written + 1, labelled + bool(record.y)
    return written, labelled


def _records(source: SignalSource) -> Iterator[Record]:
    source.resume(START)
    while not source.ended:
        yield from source.poll(ROWS)
