"""`fsir-aggregator refused`: the newest refusals, and how many there were for each reason."""

from __future__ import annotations

import argparse
import json
from typing import Any

from aggregator.commands.stored import add_json, add_store, opened
from aggregator.overview.tables import print_table
from aggregator.overview.words import time_text
from aggregator.reasons import REASONS
from aggregator.store.base import Store
from aggregator.store.rows import RefusedRow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--limit, and which store."""
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help="the newest N (default %(default)s)"
    )
    add_store(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """The newest refusals, and how many there were for each reason."""
    with opened(args) as (store, _):
        rows = store.refused(max(0, args.limit), args.task)
        counts = _counts(store, args.task)
    if args.json:
        print(json.dumps({"counts": counts, "newest": [_entry(row) for row in rows]}))
        return 0
    print_table(("when", "task", "device", "stage", "bytes", "reason"), [_cells(r) for r in rows])
    print(f"{len(rows)} shown of {sum(counts.values())} refused")
    for reason, count in sorted(counts.items()):
        print(f"  {count} x {reason}: {REASONS.get(reason, '')}")
    return 0


def _counts(store: Store, asked: str | None) -> dict[str, int]:
    counts: dict[str, int] = {}
    for (task, reason), count in store.refused_counts().items():
        if asked in (None, task):
            counts[reason] = counts.get(reason, 0) + count
    return counts


def _entry(row: RefusedRow) -> dict[str, Any]:
    return {
        "at": time_text(row.at),
        "task": row.task,
        "device": row.device,
        "stage": row.stage,
        "report": row.id.hex(),
        "reason": row.reason,
        "detail": row.detail,
        "bytes": row.length,
    }


def _cells(row: RefusedRow) -> tuple[object, ...]:
    names = (row.task or "-", row.device or "-", row.stage or "-")
    return (time_text(row.at), *names, row.length, row.detail)
