"""What the commands that look into a store have in common: their options, and how they open it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager

from aggregator.federation import Federation, stored
from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from aggregator.store.opening import open_store


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
def opened(
    args: argparse.Namespace, *, update: bool = False
) -> Iterator[tuple[Store, list[Federation]]]:
    """The store, and its tasks (or the one that was asked for), the newest edition last.

    What an earlier version has left is brought up to date only if something is to be written that
    it has no place for.
    """
    with closing(open_store(args.store, create=False, update=update)) as store:
        rows = [row for row in store.tasks() if args.task in (None, row.name)]
        if args.task is not None and not rows:
            raise StoreError(
                f"--task {args.task!r}: the store {args.store} does not hold it; "
                f"it holds: {names_in(store)}"
            )
        yield store, [stored(store, row) for row in rows]


def only(federations: list[Federation]) -> Federation:
    """The newest edition of the one task that is meant."""
    names = list(dict.fromkeys(federation.name for federation in federations))
    if len(names) != 1:
        raise StoreError(
            f"say which task is meant (--task); the store holds: {', '.join(names) or 'none'}"
        )
    return federations[-1]


def names_in(store: Store) -> str:
    """The tasks of a store, for people."""
    return ", ".join(row.name for row in store.tasks()) or "none"
