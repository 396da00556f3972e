"""`fsir-aggregator devices`: which devices have been counted, stage by stage."""

from __future__ import annotations

import argparse
import json
from typing import Any

from aggregator.commands.stored import add_json, add_store, opened
from aggregator.federation import Federation
from aggregator.overview.tables import print_table
from aggregator.overview.words import time_text
from aggregator.store.base import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which store."""
    add_store(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Which devices have been counted, stage by stage."""
    with opened(args) as (store, federations):
        entries = [entry for federation in federations for entry in _reports(store, federation)]
    if args.json:
        print(json.dumps({"reports": entries}))
        return 0
    rounds = ("round",) if any("round" in entry for entry in entries) else ()
    header = ("task", "device", "stage", *rounds, "records", "counted at", "")
    print_table(header, [_cells(entry, rounds) for entry in entries])
    devices = {(entry["task"], entry["device"]) for entry in entries}
    print(f"{len(devices)} devices, {len(entries)} reports")
    return 0


def _reports(store: Store, federation: Federation) -> list[dict[str, Any]]:
    barred = store.withdrawn(federation.key)
    return [
        {
            "task": federation.name,
            "epoch": federation.task.epoch,
            "device": row.device,
            "stage": row.stage,
            **({"round": row.round} if federation.follows(row.stage) else {}),
            "records": row.n,
            "report": row.id.hex(),
            "at": time_text(row.at),
            "withdrawn": row.device in barred,
        }
        for row in store.reports(federation.key)
    ]


def _cells(entry: dict[str, Any], rounds: tuple[str, ...]) -> tuple[object, ...]:
    keys = ("task", "device", "stage", *rounds, "records", "at")
    shown = (entry.get(key, "") for key in keys)
    return (*shown, "withdrawn" if entry["withdrawn"] else "")
