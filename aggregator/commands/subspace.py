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

from aggregator.store.base import StoreError
from aggregator.store.sqlite import open_store
from fsir.contract import decode_task
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace


def subspace(args: argparse.Namespace) -> int:
    """Write the current subspace."""
    task, found = _load(args)
    raw = {"json": _json, "csv": _csv, "npz": _npz}[args.format](task, found)
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
            names = ", ".join(row.name for row in store.tasks()) or "none"
            raise StoreError(f"--task {args.task!r}: say which one; the store holds: {names}")
        (row,) = rows.values()
        published = store.published(row.key, "subspace")
    if published is None or not published.body:
        raise StoreError(
            f"task {row.name!r}: there is no subspace yet; `status` says what it waits for"
        )
    found = decode(published.body, Subspace)
    assert isinstance(found, Subspace)
    return decode_task(row.body), found


def standardisation(task: Task, found: Subspace) -> tuple[list[float], list[float]]:
    """Centre and scale of the subspace's features: a record x enters as (x - centre) / scale."""
    chosen = task.features.indices(found.features)
    return [task.features.centre[j] for j in chosen], [task.features.scale[j] for j in chosen]


def arrays(task: Task, found: Subspace) -> dict[str, Any]:
    """Everything about a subspace, as arrays and numbers."""
    centre, scale = standardisation(task, found)
    values: dict[str, Any] = {
        "task": task.name, "digest": task.digest.hex(), "version": found.version, "features": list(found.features),
        "centre": np.array(centre), "scale": np.array(scale), "basis": found.basis,
        "singular_values": found.singular_values, "noise_level": found.noise_level,
        "expected_error": found.expected_error, "devices": found.devices, "records": found.records,
        "refused": found.refused, "notes": list(found.notes),
    }  # fmt: skip
    if found.classifier is not None:
        c = found.classifier
        values |= {
            "classes": list(c.classes),
            "weights": c.weights,
            "bias": c.bias,
            "centroids": c.centroids,
        }
    return values


def _json(task: Task, found: Subspace) -> bytes:
    plain = {
        k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in arrays(task, found).items()
    }
    return (json.dumps(plain) + "\n").encode()


def _csv(task: Task, found: Subspace) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["feature", "centre", "scale", *(f"direction_{k + 1}" for k in range(found.dimension))]
    )
    centre, scale = standardisation(task, found)
    for name, c, s, row in zip(found.features, centre, scale, found.basis.tolist(), strict=True):
        writer.writerow([name, repr(c), repr(s), *(repr(value) for value in row)])
    return text.getvalue().encode()


def _npz(task: Task, found: Subspace) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays(task, found))
    return file.getvalue()
