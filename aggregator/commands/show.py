"""`fsir-aggregator status`, `refused`, `devices`, `withdraw`: tables for people, JSON for programs."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any

from aggregator import merging as counting
from aggregator.commands.subspace import subspace
from aggregator.federation import Federation
from aggregator.reasons import REASONS
from aggregator.store.base import StoreError
from aggregator.store.sqlite import SqliteStore, open_store
from fsir.contract import decode_task
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Subspace

__all__ = ["devices", "refused", "status", "subspace", "withdraw"]


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[tuple[SqliteStore, list[Federation]]]:
    """The store, and its tasks (or the one that was asked for), the newest edition last."""
    with closing(open_store(args.store, create=False)) as store:
        found = []
        for row in store.tasks():
            if args.task in (None, row.name):
                federation = Federation(decode_task(row.body))
                federation.key = row.key
                active = store.published(row.key, "active")
                if active is not None:
                    federation.pin(active.body)
                found.append(federation)
        if args.task is not None and not found:
            names = ", ".join(row.name for row in store.tasks()) or "none"
            raise StoreError(
                f"--task {args.task!r}: the store {args.store} does not hold it; it holds: {names}"
            )
        yield store, found


def status(args: argparse.Namespace) -> int:
    """How far each task is."""
    with opened(args) as (store, federations):
        found = [_status(store, federation, args.recount) for federation in federations]
    if args.json:
        print(json.dumps({"tasks": found}))
        return 0
    for entry in found:
        _print_status(entry)
    if not found:
        print("no task has been served from this store yet")
    return 0


def _status(store: SqliteStore, federation: Federation, recount: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "task": federation.name,
        "epoch": federation.task.epoch,
        "digest": federation.digest.hex(),
        "stages": {},
        "active": None,
        "subspace": None,
        "refused": {
            r: count
            for (name, r), count in store.refused_counts().items()
            if name == federation.name
        },
        "withdrawn": len(store.withdrawn(federation.key)),
    }
    for stage in federation.layouts:
        row = store.totals(federation.key, stage)
        entry["stages"][stage] = {"devices": row.devices, "records": row.records}
        if recount:
            entry["stages"][stage]["recount"] = counting.agrees(store, federation, stage)
    if federation.active is not None:
        message = decode(federation.active, Active)
        assert isinstance(message, Active)
        entry["active"] = list(message.features)
    row_ = store.published(federation.key, "subspace")
    if row_ is not None and row_.body:
        result = decode(row_.body, Subspace)
        assert isinstance(result, Subspace)
        entry["subspace"] = {
            "version": result.version,
            "published": moment(row_.at),
            "dimension": result.dimension,
            "singular_values": result.singular_values.tolist(),
            "noise_level": result.noise_level,
            "expected_error": result.expected_error,
            "devices": result.devices,
            "records": result.records,
            "notes": list(result.notes),
        }
    return entry


def _print_status(entry: dict[str, Any]) -> None:
    print(f"task {entry['task']}, epoch {entry['epoch']}, digest {entry['digest'][:16]}")
    for stage, count in entry["stages"].items():
        checked = {
            True: "; the stored reports add up to it",
            False: "; NOT what the stored reports add up to",
        }
        print(
            f"  {stage}: {count['devices']} devices, {count['records']} records{checked.get(count.get('recount'), '')}"
        )
    if entry["active"] is not None:
        shown = ", ".join(entry["active"][:5]) + (", ..." if len(entry["active"]) > 5 else "")
        print(f"  active set: {len(entry['active'])} features ({shown})")
    found = entry["subspace"]
    if found is None:
        print("  subspace: none yet")
    else:
        values = ", ".join(f"{value:.3g}" for value in found["singular_values"][:6])
        print(
            f"  subspace: version {found['version']} of {found['published']}, {found['devices']} devices"
        )
        print(
            f"    dimension {found['dimension']}; singular values {values} (noise {found['noise_level']:.3g})"
        )
        worst = (2 * found["dimension"]) ** 0.5
        print(
            f"    expected error {found['expected_error']:.3g} (0: exact, {worst:.3g}: nothing learned)"
        )
        for note in found["notes"]:
            print(f"    note: {note}")
    refused = (
        ", ".join(f"{reason} {count}" for reason, count in sorted(entry["refused"].items()))
        or "none"
    )
    print(f"  refused: {refused}; withdrawn: {entry['withdrawn']}")


def refused(args: argparse.Namespace) -> int:
    """The newest refusals, and how many there were for each reason."""
    with opened(args) as (store, _):
        rows = store.refused(max(0, args.limit) if args.task is None else 10**6)
        rows = [row for row in rows if args.task in (None, row.task)][: max(0, args.limit)]
        counts: dict[str, int] = {}
        for (task, reason), count in store.refused_counts().items():
            if args.task in (None, task):
                counts[reason] = counts.get(reason, 0) + count
    if args.json:
        newest = [
            {"at": moment(r.at), "task": r.task, "device": r.device, "stage": r.stage, "report": r.id.hex(),
             "reason": r.reason, "detail": r.detail, "bytes": r.length}
            for r in rows
        ]  # fmt: skip
        print(json.dumps({"counts": counts, "newest": newest}))
        return 0
    print_table(
        ("when", "task", "device", "stage", "bytes", "reason"),
        [
            (moment(r.at), r.task or "-", r.device or "-", r.stage or "-", r.length, r.detail)
            for r in rows
        ],
    )
    print(f"{len(rows)} shown of {sum(counts.values())} refused")
    for reason, count in sorted(counts.items()):
        print(f"  {count} x {reason}: {REASONS.get(reason, '')}")
    return 0


def devices(args: argparse.Namespace) -> int:
    """Which devices have been counted, stage by stage."""
    with opened(args) as (store, federations):
        found: list[dict[str, Any]] = []
        for federation in federations:
            barred = store.withdrawn(federation.key)
            found += [
                {"task": federation.name, "epoch": federation.task.epoch, "device": row.device, "stage": row.stage,
                 "records": row.n, "report": row.id.hex(), "at": moment(row.at), "withdrawn": row.device in barred}
                for row in store.reports(federation.key)
            ]  # fmt: skip
    if args.json:
        print(json.dumps({"reports": found}))
        return 0
    print_table(
        ("task", "device", "stage", "records", "counted at", ""),
        [
            (
                r["task"],
                r["device"],
                r["stage"],
                r["records"],
                r["at"],
                "withdrawn" if r["withdrawn"] else "",
            )
            for r in found
        ],
    )
    print(f"{len({(r['task'], r['device']) for r in found})} devices, {len(found)} reports")
    return 0


def withdraw(args: argparse.Namespace) -> int:
    """Take a device out again."""
    with opened(args) as (store, federations):
        taken = {f.name: counting.withdraw(store, f, args.device, time.time()) for f in federations}
        scrubbed = store.scrub()
    if args.json:
        print(json.dumps({"device": args.device, "withdrawn_reports": taken, "scrubbed": scrubbed}))
        return 0
    for name, count in taken.items():
        known = (
            f"{count} report(s) taken out"
            if count
            else "had no report here; a future one will be refused"
        )
        print(f"task {name}: {args.device!r} {known}")
    if not scrubbed:
        print(
            "the log of the store was in use, and still has its bytes; repeat this command to remove them there too"
        )
    return 0


def moment(at: float) -> str:
    """A time for people and programs."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as they need to be; the last one as it is."""
    lines = [tuple(header), *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=True)]
        print("  ".join([*cells, line[-1]]).rstrip())
