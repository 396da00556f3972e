"""`fsir-aggregator compact`: keeps only the totals of old rounds."""

from __future__ import annotations

import argparse
import json

from aggregator.commands.stored import add_json, add_store, opened
from aggregator.rounds.compaction import compact
from aggregator.store.errors import StoreError

PAGE = {
    "description": """\
Drop the bytes of old rounds. Their totals stay in the estimate, and their ids, so that nothing is \
counted twice. What
cannot be done any more: `withdraw` takes a device out only from the first round on that has its \
bytes, and
`status --recount` compares only devices and records of those before. Then the file is written \
anew, and smaller: that
takes its size again on the disk for a while, and a running daemon waits for it.
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many rounds keep their bytes, and which store."""
    parser.add_argument(
        "--keep",
        required=True,
        type=int,
        metavar="ROUNDS",
        help="so many of the newest rounds of each task keep their bytes",
    )
    add_store(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Keep only the totals of old rounds."""
    if args.keep < 1:
        raise StoreError(f"--keep {args.keep}: at least the newest round keeps its bytes; give 1")
    with opened(args, update=True) as (store, federations):
        done = [(each.name, compact(store, each, args.keep)) for each in federations]
        shrunk = store.shrink()
        scrubbed = store.scrub()
    if args.json:
        tasks = {
            name: {"reports": found.reports, "bytes": found.bytes, "since": found.since}
            for name, found in done
        }
        print(json.dumps({"compacted": tasks, "shrunk": shrunk and scrubbed}))
        return 0
    for name, found in done:
        size = f"{found.bytes / 1e6:.1f} MB of {found.reports} report(s)"
        kept = f"bytes are kept from round {found.since} on"
        print(f"task {name}: {f'{size} dropped' if found.reports else 'nothing to drop'}; {kept}")
    if not (shrunk and scrubbed):
        print("the store was in use, and its file is not smaller yet; repeat this command")
    return 0
