"""`fsir-aggregator subspace`: the estimate as JSON, CSV or numpy arrays, for use elsewhere."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from aggregator.commands.stored import add_store, names_in
from aggregator.store.base import StoreError
from aggregator.store.sqlite import open_store
from fsir.contract import decode_task
from fsir.task.task import Task
from fsir.wire.decode import decode
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
    task, subspace = _load(args)
    raw = {"json": _json, "csv": _csv, "npz": _npz}[args.format](task, subspace)
    if args.output is not None:
        Path(args.output).write_bytes(raw)
    elif args.format == "npz" and sys.stdout.isatty():
        raise StoreError("--format npz: numpy's file would garble the terminal; give --output FILE")
    else:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    return 0


def _load(args: argparse.Namespace) -> tuple[Task, Subspace]:
    with closing(open_store(args.store, create=False)) as store:
        rows = {row.name: row for row in store.tasks() if args.task in (None, row.name)}
        if len(rows) != 1:
            raise StoreError(
                f"--task {args.task!r}: say which one; the store holds: {names_in(store)}"
            )
        (row,) = rows.values()
        published = store.published(row.key, "subspace")
    if published is None or not published.body:
        raise StoreError(
            f"task {row.name!r}: there is no subspace yet; `status` says what it waits for"
        )
    subspace = decode(published.body, Subspace)
    return decode_task(row.body), subspace


def _standardisation(task: Task, subspace: Subspace) -> tuple[list[float], list[float]]:
    """Centre and scale of the subspace's features: a record x enters as (x - centre) / scale."""
    chosen = task.features.indices(subspace.features)
    return [task.features.centre[j] for j in chosen], [task.features.scale[j] for j in chosen]


def _arrays(task: Task, subspace: Subspace) -> dict[str, Any]:
    """Everything about a subspace, as arrays and numbers."""
    centre, scale = _standardisation(task, subspace)
    values: dict[str, Any] = {
        "task": task.name,
        "digest": task.digest.hex(),
        "version": subspace.version,
        "features": list(subspace.features),
        "centre": np.array(centre),
        "scale": np.array(scale),
        "basis": subspace.basis,
        "singular_values": subspace.singular_values,
        "noise_level": subspace.noise_level,
        "expected_error": subspace.expected_error,
        **_accuracy(subspace),
        "devices": subspace.devices,
        "records": subspace.records,
        "refused": subspace.refused,
        "notes": list(subspace.notes),
    }
    classifier = subspace.classifier
    if classifier is not None:
        values["classes"] = list(classifier.classes)
        values["weights"] = classifier.weights
        values["bias"] = classifier.bias
        values["centroids"] = classifier.centroids
        if classifier.basis is not None:
            values["classifier_basis"] = classifier.basis
        if classifier.temperature != 1.0:
            values["temperature"] = classifier.temperature
    return values


def _accuracy(subspace: Subspace) -> dict[str, float]:
    """The expected accuracy, where there is a figure."""
    accuracy = subspace.expected_accuracy
    return {} if accuracy is None else {"expected_accuracy": accuracy}


def _json(task: Task, subspace: Subspace) -> bytes:
    plain = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in _arrays(task, subspace).items()
    }
    return (json.dumps(plain) + "\n").encode()


def _csv(task: Task, subspace: Subspace) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    directions = (f"direction_{k + 1}" for k in range(subspace.dimension))
    writer.writerow(["feature", "centre", "scale", *directions])
    centre, scale = _standardisation(task, subspace)
    rows = zip(subspace.features, centre, scale, subspace.basis.tolist(), strict=True)
    for name, middle, unit, values in rows:
        writer.writerow([name, repr(middle), repr(unit), *(repr(value) for value in values)])
    return text.getvalue().encode()


def _npz(task: Task, subspace: Subspace) -> bytes:
    file = io.BytesIO()
    np.savez(file, **_arrays(task, subspace))
    return file.getvalue()
