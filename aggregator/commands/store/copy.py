"""`fsir-aggregator store copy`: moves a federation from one engine to another."""

from __future__ import annotations

import argparse
from contextlib import closing

from aggregator.federation import stored
from aggregator.results.opened import agrees_with_opened
from aggregator.rounds.recount import agrees
from aggregator.store.base import Store
from aggregator.store.copying import copy
from aggregator.store.errors import StoreError
from aggregator.store.opening import open_store

PAGE = {
    "description": """\
Copy everything in a store into an empty one, of either engine, and add all stored reports up \
there again: a copy that
does not agree is not kept. Stop `serve` first: what is counted meanwhile is not copied. The old \
store stays as it is;
start `serve` with the new one, and never again with the old.

example:
  fsir-aggregator store copy sqlite:/var/lib/fsir/reports.db postgresql://db.example/fsir
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """From where, and where to."""
    parser.add_argument("source", metavar="FROM", help="sqlite:PATH or postgresql://HOST/NAME")
    parser.add_argument("target", metavar="TO", help="the same; created if it does not exist")


def run(args: argparse.Namespace) -> int:
    """Copy, recount, and say how much it was."""
    with (
        closing(open_store(args.source, create=False, update=True)) as source,
        source.snapshot() as still,
        closing(open_store(args.target)) as target,
        target.transaction(),
    ):
        counts = copy(still, target)
        _check(target)
        names = [row.name for row in target.tasks()]
    print(f"tasks {', '.join(names) or 'none'}: {counts['report']} reports copied and recounted")
    return 0


def _check(target: Store) -> None:
    for row in target.tasks():
        federation = stored(target, row)
        compared = agrees if federation.task.secure is None else agrees_with_opened
        for stage in federation.layouts:
            if not compared(target, federation, stage):
                raise StoreError(
                    f"task {row.name!r}: the stored reports of {stage} do not add up to its "
                    "totals, and nothing was copied; see `status --recount` of the source"
                )
