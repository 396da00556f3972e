"""`fsir-aggregator readmit`: undoes a withdrawal, as far as deleted bytes allow."""

from __future__ import annotations

import argparse
import json

from aggregator import merging
from aggregator.commands.stored import add_json, add_store, opened
from aggregator.enrolment.nearest import meant
from aggregator.store.errors import StoreError

PAGE = {
    "description": """\
Let a device in again that was withdrawn by mistake. One that has not heard of it goes on as if \
nothing had happened: a
report that it still has, or is still to make, counts. Reports that were counted before were \
deleted with the withdrawal,
here and, once it had its receipt, on the device: only the same bytes are counted again, once, \
and no other report takes
their place. A device that has been told that it is out, and has stopped, goes on as soon as it \
hears of this.
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The device, and which store."""
    parser.add_argument("device", metavar="DEVICE")
    add_store(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Undo a withdrawal."""
    device = args.device
    with opened(args, update=True) as (store, federations):
        barred = {name for each in federations for name in store.withdrawn(each.key)}
        if device not in barred:
            raise StoreError(
                f"{device!r} was not withdrawn{meant(device, sorted(barred))}; nothing was changed"
            )
        deleted: dict[str, int] = {}
        for each in federations:  # of one name there may be several editions
            count = merging.readmit(store, each, device)
            if count is not None:
                deleted[each.name] = deleted.get(each.name, 0) + count
    if args.json:
        print(json.dumps({"device": device, "deleted_reports": deleted}))
        return 0
    for name, count in deleted.items():
        print(f"task {name}: {device!r} {_outcome(count)}")
    return 0


def _outcome(count: int) -> str:
    if not count:
        return "is let in again; it had no report here, and one that is still to come will count"
    return (
        f"is let in again; {count} report(s) of it were deleted, and count again "
        "only if it still sends the same bytes"
    )
