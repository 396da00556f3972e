"""`fsir-aggregator subspace`: the estimate as JSON, CSV or numpy arrays, for use elsewhere."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path

from aggregator.commands.stored import add_store
from aggregator.store.errors import StoreError
from aggregator.store.reading import stored_subspace
from fsir.fitted.export import to_json, to_npz
from fsir.fitted.fields import fields
from fsir.net.files import writing
from fsir.task.task import Task
from fsir.wire.messages import Subspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The format, where to, and which store."""
    parser.add_argument(
        "--format", choices=("json", "csv", "npz"), default="json", help="default: %(default)s"
    )
    parser.add_argument("--output", metavar="FILE", help="default: standard output")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Write the current subspace."""

    def example(name: str) -> str:
        return f"fsir-aggregator subspace --store {args.store} --task {name}"

    task, subspace = stored_subspace(args.store, args.task, example)
    raw = {"json": _json, "csv": _csv, "npz": to_npz}[args.format](task, subspace)
    if args.output is not None:
        with writing("--output", args.output):
            Path(args.output).write_bytes(raw)
    elif args.format == "npz" and sys.stdout.isatty():
        raise StoreError("--format npz: numpy's file would garble the terminal; give --output FILE")
    else:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    return 0


def _json(task: Task, subspace: Subspace) -> bytes:
    return (to_json(task, subspace) + "\n").encode()


def _csv(task: Task, subspace: Subspace) -> bytes:
    """The directions alone, for a spreadsheet: it cannot be loaded."""
    values = fields(task, subspace)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    directions = (f"direction_{k + 1}" for k in range(subspace.dimension))
    writer.writerow(["feature", "centre", "scale", *directions])
    columns = (values[name].tolist() for name in ("centre", "scale", "basis"))
    for name, centre, scale, loadings in zip(subspace.features, *columns, strict=True):
        writer.writerow([name, *(repr(value) for value in (centre, scale, *loadings))])
    return text.getvalue().encode()
