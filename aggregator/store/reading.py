"""The subspace that a store has published, and its task: for a command, and for `fsir.load`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from aggregator.store.opening import open_store
from aggregator.store.rows import TaskRow
from fsir.contract import decode_task
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace


def stored_subspace(
    address: str, name: str | None, example: Callable[[str], str]
) -> tuple[Task, Subspace]:
    """The subspace of the named task, or of the only one, in the store at this address.

    `example` says, for whoever has not said which task, how to ask for one by its name.
    """
    with closing(open_store(address, create=False)) as store:
        row = _chosen(store, address, name, example)
        body = _published(store, row)
    if not body:
        raise StoreError(
            f"task {row.name!r}: there is no subspace yet; `status` says what it waits for"
        )
    return decode_task(row.body), decode(body, Subspace)


def _chosen(store: Store, address: str, name: str | None, example: Callable[[str], str]) -> TaskRow:
    rows = {row.name: row for row in store.tasks()}  # of several editions the newest
    names = ", ".join(rows) or "none"
    if name is not None and name not in rows:
        raise StoreError(f"task {name!r}: the store {address} does not hold it; it holds: {names}")
    if not rows:
        raise StoreError(f"the store {address} holds no task; `serve` puts the first one there")
    if name is None and len(rows) > 1:
        ready = [row.name for row in rows.values() if _published(store, row)]
        one = (ready or list(rows))[0]
        raise StoreError(
            f"the store {address} holds {len(rows)} tasks: {names}; "
            f"say which one, for example: {example(one)}"
        )
    return rows[name] if name is not None else next(iter(rows.values()))


def _published(store: Store, row: TaskRow) -> bytes:
    published = store.published(row.key, "subspace")
    return b"" if published is None else published.body
