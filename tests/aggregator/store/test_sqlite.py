"""The store: what is written is read, bounded quarantine, no byte left of who was withdrawn."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.store.base import PublishedRow, StoreBusyError, StoreError, TotalsRow
from aggregator.store.database import Database
from aggregator.store.quarantine import QUARANTINE_BYTES, QUARANTINE_ROWS
from aggregator.store.schema import STEPS
from aggregator.store.sqlite import SqliteStore, open_store
from tests.aggregator.store.rows import refusal, row

# Of each format.
TABLES = (
    "4e1adb407c7de3339fe05d8a2fe347e91a932bd3be4c8f6df2a4e45efa9574d5",
    "96ea921be77cb448cf8eecc1ed46f09fc18d0a234a984353dc76cdbe11bedd5a",
    "bf615866829d12d6625872a38dc9851cdb4245b071299328c767598157698410",
    "734dce747db781eabb204b1a933b3ea77163b72012169c1326c120547005c29f",
    "2d397035f492d81cdcb419b2a2a6f026cc237e3feb1f66ac81e46727b230e995",
)


def test_what_was_written_is_read_by_the_next_process(tmp_path: Path, store: SqliteStore) -> None:
    totals = TotalsRow(devices=2, records=200, change=7, values=b"12345678")
    active = PublishedRow(body=b"features", version=1, change=3, at=4.0)
    with store.transaction():
        store.insert(1, [row("a", "screening"), row("a"), row("b")])
        store.put_totals(1, "final", totals)
        store.put_published(1, "active", active)
        store.refuse([refusal(1)])
    store.close()
    again = SqliteStore(tmp_path / "s.db", create=False)
    assert [(t.key, t.name, t.epoch, t.body) for t in again.tasks()] == [(1, "test", 1, b"body")]
    assert list(again.reports(1, "final")) == [row("a"), row("b")]
    places = [("a", "screening", 1), ("a", "final", 1), ("a", "final", 2), ("z", "final", 1)]
    assert again.lookup(1, places) == dict.fromkeys(places[:2], b"i" * 16)
    assert again.totals(1, "final") == totals
    assert again.totals(1, "screening") == TotalsRow()
    assert again.published(1, "active") == active
    assert again.first_at(1, "final") == 2.0
    assert again.refused(10) == [refusal(1)]
    assert again.refused_counts() == {("test", "malformed"): 1}
    again.close()


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_the_tables_are_those_of_every_store_so_far(tmp_path: Path, number: int) -> None:
    """A file keeps the text of its tables: whoever changes it needs another format."""
    made = Database(tmp_path / "tables.db", STEPS[: number + 1], create=True)
    texts = made._db.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
    made.close()
    raw = "\n".join(text for (text,) in texts if text).encode()
    assert hashlib.sha256(raw).hexdigest() == TABLES[number]


def test_a_store_of_an_earlier_format_gets_the_later_tables_when_it_is_served(
    tmp_path: Path,
) -> None:
    """Whoever only looks leaves it as it is: an earlier daemon may be serving from it."""
    Database(tmp_path / "old.db", STEPS[:1], create=True).close()
    for create, formats in ((False, 1), (True, 5), (False, 5), (True, 5)):
        opened = SqliteStore(tmp_path / "old.db", create=create)
        assert opened._db.execute("PRAGMA user_version").fetchone() == (formats,)
        opened.add_task(b"t" * 32, "test", 1, b"body", 1.0)
        # Who only looks finds the later tables empty.
        assert opened.instances(1, ["a"]) == {}
        assert opened.versions(1, 10) == []
        assert opened.roster_size("test") == 0
        opened.close()


def test_the_numbers_of_devices_are_kept_by_task(tmp_path: Path, store: SqliteStore) -> None:
    store.add_task(b"u" * 32, "other", 1, b"body", 1.0)
    with store.transaction():
        store.put_instances(1, {"a": b"1" * 16, "b": b"2" * 16})
        store.put_instances(2, {"a": b"3" * 16})
        store.put_instances(1, {"b": b"4" * 16})
    store.close()
    again = SqliteStore(tmp_path / "s.db", create=False)
    assert again.instances(1, ["a", "b", "z"]) == {"a": b"1" * 16, "b": b"4" * 16}
    assert again.instances(2, ["a", "b"]) == {"a": b"3" * 16}
    again.close()


def test_a_snapshot_stands_still_in_any_thread(tmp_path: Path, store: SqliteStore) -> None:
    with store.transaction():
        store.insert(1, [row("a"), row("b")])
    met = threading.Barrier(2)

    def read() -> list[list[str]]:
        with store.snapshot() as snapshot:
            before = [r.device for r in snapshot.reports(1) if r.raw is not None]
            met.wait(60)  # until here nothing else was written ...
            met.wait(60)  # ... and now it was
            return [before, [r.device for r in snapshot.reports(1) if r.raw is not None]]

    with ThreadPoolExecutor(1) as elsewhere:
        seen = elsewhere.submit(read)
        met.wait(60)
        with store.transaction():  # a reader is in nobody's way
            store.insert(1, [row("c")])
            store.withdraw(1, "a", 3.0)
        met.wait(60)
        assert seen.result(60) == [["a", "b"], ["a", "b"]]
    with store.snapshot() as snapshot:
        assert [r.device for r in snapshot.reports(1) if r.raw is not None] == ["b", "c"]
    (tmp_path / "s.db").rename(tmp_path / "moved.db")
    with pytest.raises(StoreBusyError, match="no such file"), store.snapshot():
        pass


def test_of_a_withdrawn_device_no_byte_is_left_in_any_file(
    tmp_path: Path, store: SqliteStore
) -> None:
    secret = bytes(range(256)) * 8
    with store.transaction():
        store.insert(1, [replace(row("a"), raw=secret), row("b")])
        store.refuse([replace(refusal(1), device="a", raw=secret[:QUARANTINE_BYTES])])
    elsewhere = SqliteStore(tmp_path / "s.db", create=False)
    with elsewhere.transaction():
        elsewhere.withdraw(1, "a", 3.0)
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    # In the log: hence the next line.
    assert any(secret[:256] in path.read_bytes() for path in files)
    assert elsewhere.scrub()
    assert not any(secret[:256] in path.read_bytes() for path in files)
    elsewhere._db.execute("PRAGMA busy_timeout=10")
    with store.snapshot() as snapshot:
        assert list(snapshot.reports(1))
        with elsewhere.transaction():
            elsewhere.withdraw(1, "b", 4.0)
        assert not elsewhere.scrub()  # said, and not claimed
    elsewhere.close()


def test_the_quarantine_is_bounded_and_the_counters_know_all(store: SqliteStore) -> None:
    for start in range(0, QUARANTINE_ROWS + 500, 500):
        with store.transaction():
            store.refuse([refusal(i) for i in range(start, start + 500)])
    kept = store.refused(10**6)
    assert len(kept) == QUARANTINE_ROWS
    assert kept[0].device == f"d{QUARANTINE_ROWS + 499}"  # the newest first, the oldest gone
    assert store.refused_counts() == {("test", "malformed"): QUARANTINE_ROWS + 500}
    with store.transaction():
        store.refuse([replace(refusal(0), raw=b"x" * 10**6, length=10**6)])
    (newest,) = store.refused(1)
    assert (len(newest.raw), newest.length) == (QUARANTINE_BYTES, 10**6)


def test_counted_reports_are_listed_page_by_page_and_the_newest_first(store: SqliteStore) -> None:
    assert store.counted(10) == []
    with store.transaction():
        store.insert(1, [row(device) for device in "abcde"])
    pages = []
    page = store.counted(2)
    while page:
        pages.append([device for _, _, device in page])
        page = store.counted(2, page[-1][0])
    assert pages == [["e", "d"], ["c", "b"], ["a"]]


@pytest.mark.parametrize("address", ["", "s.db", "sqlite:", "postgresql:host/db", "sqlite"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(StoreError, match="sqlite:PATH"):
        open_store(address)
