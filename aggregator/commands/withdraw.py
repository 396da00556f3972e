"""`fsir-aggregator withdraw`: takes a device out again."""

from __future__ import annotations

import argparse
import json
import time

from aggregator import merging
from aggregator.commands.stored import add_json, add_store, opened

PAGE = {
    "description": """\
Take a device out again: its reports are subtracted exactly and their bytes deleted, and no new \
report of it is
accepted. A running daemon publishes the subspace without it within seconds. The active set stays: \
it is pinned on all
devices. This cannot be undone.
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The device, and which store."""
    parser.add_argument("device", metavar="DEVICE")
    add_store(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Take a device out again."""
    device = args.device
    with opened(args) as (store, federations):
        taken = {
            federation.name: merging.withdraw(store, federation, device, time.time())
            for federation in federations
        }
        scrubbed = store.scrub()
    if args.json:
        print(json.dumps({"device": device, "withdrawn_reports": taken, "scrubbed": scrubbed}))
    else:
        _print(device, taken, scrubbed)
    return 0


def _print(device: str, taken: dict[str, int], scrubbed: bool) -> None:
    for name, count in taken.items():
        none = "had no report here; a future one will be refused"
        print(f"task {name}: {device!r} {f'{count} report(s) taken out' if count else none}")
    if not scrubbed:
        print(
            "the log of the store was in use, and still has its bytes; "
            "repeat this command to remove them there too"
        )
