"""`fsir-aggregator status`: how far each task is."""

from __future__ import annotations

import argparse
import json
from typing import Any

from aggregator import merging
from aggregator.commands.stored import add_json, add_store, opened
from aggregator.commands.tables import time_text
from aggregator.federation import Federation
from aggregator.store.base import Store
from fsir.estimate.subspace import random_loss
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Subspace

_RECOUNTED = {
    None: "",
    True: "; the stored reports add up to it",
    False: "; NOT what the stored reports add up to",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--recount, and which store."""
    parser.add_argument(
        "--recount", action="store_true", help="also add all stored reports up again and compare"
    )
    add_store(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """How far each task is."""
    with opened(args) as (store, federations):
        entries = [_status(store, federation, args.recount) for federation in federations]
    if args.json:
        print(json.dumps({"tasks": entries}))
        return 0
    for entry in entries:
        _print_status(entry)
    if not entries:
        print("no task has been served from this store yet")
    return 0


def _status(store: Store, federation: Federation, recount: bool) -> dict[str, Any]:
    return {
        "task": federation.name,
        "epoch": federation.task.epoch,
        "digest": federation.digest.hex(),
        "stages": _stages(store, federation, recount),
        "active": _active(federation),
        "subspace": _subspace(store, federation),
        "refused": {
            reason: count
            for (name, reason), count in store.refused_counts().items()
            if name == federation.name
        },
        "withdrawn": len(store.withdrawn(federation.key)),
    }


def _stages(store: Store, federation: Federation, recount: bool) -> dict[str, dict[str, Any]]:
    stages: dict[str, dict[str, Any]] = {}
    for stage in federation.layouts:
        row = store.totals(federation.key, stage)
        stages[stage] = {"devices": row.devices, "records": row.records}
        if recount:
            stages[stage]["recount"] = merging.agrees(store, federation, stage)
    return stages


def _active(federation: Federation) -> list[str] | None:
    if federation.active is None:
        return None
    return list(decode(federation.active, Active).features)


def _subspace(store: Store, federation: Federation) -> dict[str, Any] | None:
    row = store.published(federation.key, "subspace")
    if row is None or not row.body:
        return None
    subspace = decode(row.body, Subspace)
    return {
        "version": subspace.version,
        "published": time_text(row.at),
        "dimension": subspace.dimension,
        "singular_values": subspace.singular_values.tolist(),
        "noise_level": subspace.noise_level,
        "expected_error": subspace.expected_error,
        "random_error": random_loss(len(subspace.features), subspace.dimension),
        "expected_accuracy": subspace.expected_accuracy,
        "devices": subspace.devices,
        "records": subspace.records,
        "notes": list(subspace.notes),
    }


def _print_status(entry: dict[str, Any]) -> None:
    print(f"task {entry['task']}, epoch {entry['epoch']}, digest {entry['digest'][:16]}")
    for stage, count in entry["stages"].items():
        recounted = _RECOUNTED[count.get("recount")]
        print(f"  {stage}: {count['devices']} devices, {count['records']} records{recounted}")
    if entry["active"] is not None:
        shown = ", ".join(entry["active"][:5]) + (", ..." if len(entry["active"]) > 5 else "")
        print(f"  active set: {len(entry['active'])} features ({shown})")
    _print_subspace(entry["subspace"])
    reasons = sorted(entry["refused"].items())
    refused = ", ".join(f"{reason} {count}" for reason, count in reasons) or "none"
    print(f"  refused: {refused}; withdrawn: {entry['withdrawn']}")


def _print_subspace(entry: dict[str, Any] | None) -> None:
    if entry is None:
        print("  subspace: none yet")
        return
    version = f"version {entry['version']} of {entry['published']}"
    print(f"  subspace: {version}, {entry['devices']} devices")
    values = ", ".join(f"{value:.3g}" for value in entry["singular_values"][:6])
    noise = f"(noise {entry['noise_level']:.3g})"
    print(f"    dimension {entry['dimension']}; singular values {values} {noise}")
    scale = f"(0: exact, {entry['random_error']:.3g}: nothing learned)"
    print(f"    expected error {entry['expected_error']:.3g} {scale}")
    if entry["expected_accuracy"] is not None:
        print(f"    expected accuracy {entry['expected_accuracy']:.1%} for those who take no part")
    for note in entry["notes"]:
        print(f"    note: {note}")
