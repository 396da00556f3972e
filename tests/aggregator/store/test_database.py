"""The file of a store: all or nothing, on the disk when it says so, and never somebody else's."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aggregator.store.errors import StoreError
from aggregator.store.opening import open_store
from aggregator.store.sqlite import SqliteStore
from tests.aggregator.store.rows import row


def test_one_report_per_place_whatever_the_program_thinks(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    with store.transaction():
        store.insert(1, [row("a")])
    with pytest.raises(sqlite3.IntegrityError), store.transaction():
        store.insert(1, [row("b"), row("a")])
    assert [r.device for r in store.reports(1)] == ["a"]
    store.close()


def test_a_worker_waits_for_another_that_creates_the_store_at_the_same_moment(
    tmp_path: Path,
) -> None:
    """SQLite would not wait by itself for whoever is still changing a file that is no log yet."""
    other = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(lambda: SqliteStore(tmp_path / "new.db").close())
        try:
            with pytest.raises(TimeoutError):
                opening.result(timeout=0.3)
        finally:
            other.execute("ROLLBACK")
            other.close()
        opening.result(timeout=60)


def test_commits_reach_the_disk_before_they_return(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    store.close()


def test_files_that_are_not_a_store_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        open_store(f"sqlite:{tmp_path / 'none.db'}", create=False)
    with pytest.raises(StoreError, match="existing folder"):
        open_store(f"sqlite:{tmp_path / 'none' / 's.db'}")
    text = "this is a text, long enough to be looked at as a database file"
    (tmp_path / "text.db").write_text(text * 20)
    with pytest.raises(StoreError, match="not a database"):
        open_store(f"sqlite:{tmp_path / 'text.db'}")
    newer = sqlite3.connect(tmp_path / "newer.db")
    newer.execute("PRAGMA user_version=99")
    newer.close()
    with pytest.raises(StoreError, match="format 99"):
        open_store(f"sqlite:{tmp_path / 'newer.db'}")
