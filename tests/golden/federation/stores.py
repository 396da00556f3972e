"""What an aggregator says that is started on a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aggregator.core import Aggregator
from aggregator.store.opening import open_store
from tests.golden.federation.tasks import CLOCK, SERVED
from tests.golden.files import Message

LATER = float(CLOCK + 10 * 86400)
GONE = "dev-4"  # who leaves, in a copy
RECEIPTS = "receipts.txt"
WITHDRAWN = "withdrawn.txt"


@contextmanager
def started(path: Path, *, update: bool = False) -> Iterator[tuple[Aggregator, list[Message]]]:
    """An aggregator on a store, and what it publishes at its start.

    Whoever changes something brings the store up to date first.
    """
    store = open_store(f"sqlite:{path}", create=False, update=update)
    aggregator = Aggregator(store, SERVED, debounce=0.0)
    yield aggregator, [Message(*found[:2]) for found in aggregator.start(LATER)]
    store.close()


def announced(path: Path) -> list[Message]:
    """Tasks, active sets and subspaces."""
    with started(path) as (_, messages):
        return messages


def receipts(path: Path) -> list[Message]:
    """The receipts of all that was counted, which a restart repeats."""
    messages: list[Message] = []
    with started(path) as (aggregator, _):
        while more := aggregator.receipts():
            messages += [Message(*found[:2]) for found in more]
    return messages


def without(path: Path, device: str) -> list[Message]:
    """The subspaces once a device has left."""
    with started(path, update=True) as (aggregator, _):
        aggregator.withdraw(device, LATER)
        return [Message(*found[:2]) for found in aggregator.estimate(LATER)]
