"""What the commands that look into a store have in common: their options, and how they open it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager

from aggregator.federation import Federation
from aggregator.store.base import Store, StoreError, TaskRow
from aggregator.store.sqlite import SqliteStore, open_store
from fsir.contract import decode_task


def add_store(parser: argparse.ArgumentParser) -> None:
    """--store and --task."""
    parser.add_argument(
        "--store", required=True, metavar="sqlite:PATH", help="the store of `serve`"
    )
    parser.add_argument("--task", metavar="NAME", help="only this task")


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[tuple[SqliteStore, list[Federation]]]:
    """The store, and its tasks (or the one that was asked for), the newest edition last."""
    with closing(open_store(args.store, create=False)) as store:
        rows = [row for row in store.tasks() if args.task in (None, row.name)]
        if args.task is not None and not rows:
            raise StoreError(
                f"--task {args.task!r}: the store {args.store} does not hold it; "
                f"it holds: {names_in(store)}"
            )
        yield store, [_federation(store, row) for row in rows]


def names_in(store: Store) -> str:
    """The tasks of a store, for people."""
    return ", ".join(row.name for row in store.tasks()) or "none"


def _federation(store: Store, row: TaskRow) -> Federation:
    federation = Federation(decode_task(row.body))
    federation.key = row.key
    active = store.published(row.key, "active")
    if active is not None:
        federation.pin(active.body)
    return federation
