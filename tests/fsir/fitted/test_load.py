"""A subspace from a file, a store or bytes; what cannot be one is told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.core import Aggregator
from aggregator.store.sqlite import SqliteStore
from fsir.errors import FsirError
from fsir.fitted.errors import ExportError
from fsir.fitted.load import load
from fsir.wire.messages import encode
from tests.aggregator.federations import make_task, report, topic
from tests.fsir.fitted.made import plain

PLAIN = plain()
TASKS = [make_task(name=name) for name in ("first", "second", "third")]


def store(path: Path, *tasks, waiting=()) -> None:
    """A store with these tasks, of which some still wait for their reports."""
    made = Aggregator(SqliteStore(path), tasks)
    made.start(1.7e9)
    for task in tasks:
        for k in range(0 if task in waiting else 3):
            made.take(topic(task, f"d{k}"), report(task, f"d{k}", k))
    made.commit(1.7e9)
    made.estimate(1.7e9)
    made.store.close()


def test_a_store_with_one_task(tmp_path):
    path = tmp_path / "reports.db"
    store(path, TASKS[0])
    for what in (path, str(path), f"sqlite:{path}"):
        subspace = load(what)
        assert subspace.task == TASKS[0]
        assert subspace.message.devices == 3
    exported = tmp_path / "s.json"
    subspace.export(exported)
    assert load(exported).to_json() == subspace.to_json()


def test_of_several_tasks_one_is_named(tmp_path):
    path = tmp_path / "reports.db"
    store(path, *TASKS, waiting=TASKS[:1])
    assert load(path, task="third").task == TASKS[2]
    with pytest.raises(FsirError) as caught:
        load(path)
    assert str(caught.value) == (
        f"the store sqlite:{path} holds 3 tasks: first, second, third; say which one, for example: "
        f"fsir.load('sqlite:{path}', task='second')"
    )
    with pytest.raises(FsirError, match=r"task 'fourth': .* it holds: first, second, third"):
        load(path, task="fourth")
    with pytest.raises(FsirError, match="task 'first': there is no subspace yet"):
        load(path, task="first")


def test_an_export_is_of_one_task(tmp_path):
    PLAIN.export(tmp_path / "s.npz")
    assert load(tmp_path / "s.npz", task="test").task == PLAIN.task
    with pytest.raises(ExportError, match="subspace of 'test', and task = 'other' was asked"):
        load(tmp_path / "s.npz", task="other")


def test_the_message_of_devices_alone_is_not_enough():
    with pytest.raises(ExportError, match=r"lacks the task: centres, scales and clips stand there"):
        load(encode(PLAIN.message))


def test_what_cannot_be_loaded_is_told_apart(tmp_path):
    table = tmp_path / "s.csv"
    table.write_text("feature,centre,scale,direction_1\nx,0.0,1.0,1.0\n")
    with pytest.raises(ExportError, match="a CSV has the directions alone"):
        load(table)
    with pytest.raises(ExportError, match=r"nowhere\.json: No such file or directory; give the"):
        load(tmp_path / "nowhere.json")
    with pytest.raises(ExportError, match="Is a directory"):
        load(tmp_path)
    with pytest.raises(ExportError, match="a whole store; give the path"):
        load(b"SQLite format 3\0 and so on")
    with pytest.raises(FsirError, match="there is no such file"):
        load(f"sqlite:{tmp_path / 'nowhere.db'}")


def test_a_damaged_store_is_an_error_of_this_project(tmp_path):
    path = tmp_path / "broken.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(4000))
    with pytest.raises(FsirError, match="store"):
        load(path)
