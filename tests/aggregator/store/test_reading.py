"""The subspace of a store: of the named task, or of the only one."""

from __future__ import annotations

import pytest

from aggregator.store.errors import StoreError
from aggregator.store.reading import stored_subspace
from aggregator.store.rows import PublishedRow
from aggregator.store.sqlite import SqliteStore
from fsir.wire.messages import encode
from tests.fsir.fitted.made import plain

PLAIN = plain()


@pytest.fixture
def address(tmp_path):
    return f"sqlite:{tmp_path / 's.db'}"


def fill(address, *tasks, published=True):
    """A store with these tasks, each of which has published the same subspace."""
    store = SqliteStore(address.removeprefix("sqlite:"))
    for task in tasks:
        key = store.add_task(task.digest, task.name, task.epoch, task.encode(), 1.0)
        if published:
            row = PublishedRow(body=encode(PLAIN.message), version=1, change=1, at=2.0)
            store.put_published(key, "subspace", row)
    store.close()


def test_the_only_task_needs_no_name(address):
    fill(address, PLAIN.task)
    for name in (None, "test"):
        task, message = stored_subspace(address, name, str)
        assert task == PLAIN.task
        assert encode(message) == encode(PLAIN.message)


def test_a_store_without_tasks_and_one_that_waits(address):
    fill(address)
    with pytest.raises(StoreError, match="holds no task; `serve` puts the first one there"):
        stored_subspace(address, None, str)
    fill(address, PLAIN.task, published=False)
    with pytest.raises(StoreError, match="there is no subspace yet; `status` says what it waits"):
        stored_subspace(address, None, str)


def test_who_does_not_say_which_gets_an_example(address):
    other = plain(3, name="other").task
    fill(address, PLAIN.task, other)
    with pytest.raises(StoreError, match=r"2 tasks: test, other; say which one, .*: use <test>"):
        stored_subspace(address, None, lambda name: f"use <{name}>")
