"""What the broker should retain of a federation, except for receipts: task, active set, subspace.

It is published at every start, and again when another worker has stored something since.
"""

from __future__ import annotations

from aggregator.federation import Federation
from aggregator.publication import Publication
from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from fsir.wire import messages

# After so long a worker repeats what is retained and was another's to publish ...
REPEAT_SECONDS = 30.0  # ... unless that one may have another broker
_KINDS = ("active", "subspace")


def register(store: Store, federation: Federation, now: float) -> bool:
    """Inside a transaction: make the task known; whether it replaces an earlier edition."""
    task = federation.task
    others = [
        row for row in store.tasks() if row.name == task.name and row.digest != federation.digest
    ]
    newest = max((row.epoch for row in others), default=0)
    if newest >= task.epoch:
        raise StoreError(
            f"task {task.name!r}, epoch {task.epoch}: the store holds another edition with epoch "
            f"{newest}; a changed task is another task: give it epoch {newest + 1} or a new name"
        )
    federation.key = store.add_task(federation.digest, task.name, task.epoch, federation.body, now)
    federation.editions = {row.digest: row.key for row in others}
    federation.editions[federation.digest] = federation.key
    return bool(others)


def at_start(store: Store, federation: Federation, replaces: bool) -> list[Publication]:
    """Everything; empty messages clear what an earlier edition of the task has left."""
    publications = [Publication(messages.topic(federation.name, "task"), federation.body)]
    for kind in _KINDS:
        row = store.published(federation.key, kind)
        if row is not None:
            federation.shown[kind] = row
        if row is not None or replaces:
            body = row.body if row else b""
            publications.append(Publication(messages.topic(federation.name, kind), body))
    return publications


def repeated(store: Store, federation: Federation, now: float) -> list[Publication]:
    """What another worker has stored.

    It may have ended before it published it, or we have published after it.
    """
    publications = []
    patience = 0.0 if store.apart else REPEAT_SECONDS
    for kind in _KINDS:
        row = store.published(federation.key, kind)
        if row is None or row == federation.shown.get(kind):
            continue
        if not 0.0 <= now - row.at < patience:
            publications.append(federation.show(kind, row))
    return publications
