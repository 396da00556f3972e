"""The tables in memory answer as those of a file do, whatever happens to them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.errors import StateError, StorageError
from edge_agent.state.database import Storage
from edge_agent.state.schema import Owner, owner_of
from edge_agent.state.tables.memory import Memory

COLUMNS = {
    "meta": ("key", "value"),
    "positions": ("task", "source", "ordinal", "cursor"),
    "ledger": ("task", "digest", "stage", "round", "report", "verdict"),
    "tasks": ("name", "raw", "source", "active", "stopped", "stream", "first"),
    "kept": ("task", "n", "K"),
}
ROWS = {
    "meta": lambda k, v: {"key": f"k{k}", "value": v},
    "positions": lambda k, v: {"task": f"t{k % 2}", "source": f"s{k}", "ordinal": v},
    "ledger": lambda k, v: {
        **{name: name for name in ("task", "mechanism", "source", "verdict", "reason")},
        **dict.fromkeys(("mu", "epsilon", "delta", "numbers", "n", "first", "last", "made"), 1),
        "digest": b"%d" % (k % 2),
        "stage": f"stage-{v % 2}",
        "report": b"%d" % v,
    },
    "tasks": lambda k, v: {"name": f"t{k}", "raw": b"raw", "source": f"s{v}"},
    "kept": lambda k, v: {"task": f"t{k}", "n": v, "K": b"rows"},
}
CHANGES = {
    "meta": lambda v: {"value": v},
    "positions": lambda v: {"ordinal": v},
    "ledger": lambda v: {"verdict": f"v{v}", "reason": ""},
    "tasks": lambda v: {"stopped": f"v{v}", "first": v},
    "kept": lambda v: {"n": v},
}
KINDS = ("insert", "put", "change", "remove")
STEPS = st.tuples(
    st.sampled_from(KINDS), st.sampled_from(list(ROWS)), st.integers(0, 3), st.integers(0, 3)
)
TRANSACTIONS = st.lists(st.tuples(st.lists(STEPS, max_size=6), st.booleans()), max_size=6)


class DeathError(Exception):
    """Whatever ends a transaction in its middle."""


def do(db, kind, table, key, value) -> None:
    row = ROWS[table](key, value)
    some = {column: row[column] for column in list(row)[:1]}
    if kind in ("insert", "put"):
        getattr(db, kind)(table, row)
    elif kind == "change":
        db.change(table, CHANGES[table](value), **some)
    else:
        db.remove(table, **some)


def live(db, transactions) -> list[object]:
    """Each of them, some of which die; and what is seen after each."""
    seen: list[object] = []
    for steps, dies in transactions:
        with suppress(DeathError):
            try:
                with db.transaction():
                    for step in steps:
                        do(db, *step)
                    if dies:
                        raise DeathError
            except StateError:
                seen.append("refused")
        seen.append({table: db.find(table, columns) for table, columns in COLUMNS.items()})
        seen.append(db.named("ledger", stage="stage-1"))
        seen.append(list(db.each("positions", ("source",), task="t1", source="s1")))
    return seen


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    storage = Storage(tmp_path_factory.mktemp("file"))
    storage.run("PRAGMA synchronous = OFF")
    owner_of(storage, Owner("anybody", True), False)
    yield storage
    storage.close()


@given(transactions=TRANSACTIONS)
@settings(max_examples=150, deadline=None)
def test_it_answers_as_a_file_does(files, transactions):
    for table in COLUMNS:
        files.remove(table)
    assert live(Memory(), transactions) == live(files, transactions)


@pytest.mark.parametrize("column", ["name", "raw"])
def test_what_the_schema_asks_for_is_asked_for(files, column):
    row = {"name": "t", "raw": b"raw", "source": "s"}
    wrong = {**row, "raw": None} if column == "raw" else row
    for db in (files, Memory()):
        if column == "name":
            db.put("tasks", row)
        with pytest.raises(StateError):
            db.insert("tasks", wrong)


def test_there_is_one_transaction_at_a_time(files):
    for db in (files, Memory()):
        with pytest.raises(StorageError), db.transaction(), db.transaction():
            pass
        with db.transaction():  # the first one has ended
            db.put("meta", {"key": "k", "value": 1})
        assert db.find("meta", ("value",), key="k") == [(1,)]
