"""The store, in each engine: what is written is read, a bounded quarantine, snapshots."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from aggregator.store.base import Store
from aggregator.store.opening import open_store
from aggregator.store.rows import PublishedRow, TotalsRow
from aggregator.store.sealed import OPENED, PENDING, CohortRow, Pool, ShareRow
from aggregator.store.tables.devices import STATES
from aggregator.store.tables.quarantine import QUARANTINE_BYTES, QUARANTINE_ROWS
from tests.aggregator.store.rows import refusal, row


def test_what_was_written_is_read_by_the_next_process(address: str, store: Store) -> None:
    totals = TotalsRow(devices=2, records=200, change=7, values=b"12345678")
    active = PublishedRow(body=b"features", version=1, change=3, at=4.0)
    with store.transaction():
        store.insert(1, [row("a", "screening"), row("a"), row("b")])
        store.put_totals(1, "final", totals)
        store.put_published(1, "active", active)
        store.refuse([refusal(1)])
    store.close()
    again = open_store(address, create=False)
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


def test_the_numbers_of_devices_are_kept_by_task(address: str, store: Store) -> None:
    store.add_task(b"u" * 32, "other", 1, b"body", 1.0)
    with store.transaction():
        store.put_instances(1, {"a": b"1" * 16, "b": b"2" * 16})
        store.put_instances(2, {"a": b"3" * 16})
        store.put_instances(1, {"b": b"4" * 16})
    store.close()
    again = open_store(address, create=False)
    assert again.instances(1, ["a", "b", "z"]) == {"a": b"1" * 16, "b": b"4" * 16}
    assert again.instances(2, ["a", "b"]) == {"a": b"3" * 16}
    again.close()


def test_a_snapshot_stands_still_in_any_thread(address: str, store: Store) -> None:
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


def test_the_quarantine_is_bounded_and_the_counters_know_all(store: Store) -> None:
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


def test_counted_reports_are_listed_page_by_page_and_the_newest_first(store: Store) -> None:
    assert store.counted(10) == []
    with store.transaction():
        store.insert(1, [row(device) for device in "abcde"])
    pages = []
    page = store.counted(2)
    while page:
        pages.append([device for _, _, device in page])
        page = store.counted(2, page[-1][0])
    assert pages == [["e", "d"], ["c", "b"], ["a"]]


def test_what_was_counted_of_one_device_is_told_whole(store: Store) -> None:
    with store.transaction():
        store.insert(1, [row("a", "screening"), row("a"), row("a")._replace(round=2), row("b")])
    places = [("a", "final", 1), ("a", "final", 2), ("a", "screening", 1)]
    assert store.receipts_of(1, "a") == dict.fromkeys(places, b"i" * 16)
    assert store.receipts_of(1, "z") == store.receipts_of(2, "a") == {}


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    def half() -> None:
        with store.transaction():
            store.insert(1, [row("a")])
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        half()
    assert list(store.reports(1)) == []


def test_what_is_withdrawn_and_let_in_again_is_known(store: Store) -> None:
    with store.transaction():
        store.insert(1, [row("a"), row("b"), row("a")._replace(round=2)])
        assert [r.round for r in store.withdraw(1, "a", 3.0)] == [1, 2]
        assert store.withdraw(1, "c", 3.0) == []
    assert (store.decisions(1), store.decisions(2)) == (2, 0)
    assert store.withdrawn(1) == {"a", "c"}
    assert store.withdrawn(1, ["a", "b"]) == {"a"}
    assert store.withdrawn(2, ["a"]) == set()
    with store.transaction():
        assert store.readmit(1, "b") is None
        assert store.readmit(1, "a") == {("a", "final", k): b"i" * 16 for k in (1, 2)}
    assert store.decisions(1) == 3
    assert store.let_in_again(1) == {"a"}
    assert store.readmitted(1, [("a", "final", 2), ("b", "final", 1)]) == {
        ("a", "final", 2): b"i" * 16
    }
    assert list(store.reports(1)) == [row("b")]


def test_rounds_patterns_and_compaction(store: Store) -> None:
    totals = TotalsRow(devices=1, records=100, change=2, values=b"12345678")
    with store.transaction():
        store.insert(1, [row("a")._replace(round=k) for k in (1, 2, 3)])
        for k in (2, 1):
            store.put_totals(1, "final", totals, k)
        store.put_taken(1, "final", {"a": ("", "1-3"), "b": ("", "1"), "c": ("", "1")})
        store.put_taken(1, "final", {"b": ("1", ""), "c": ("1", "1-2")})
    assert [(r.round, r.change) for r in store.rounds(1, "final")] == [(1, 2), (2, 2)]
    assert list(store.patterns(1, "final").items()) == [("1-2", 1), ("1-3", 1)]
    assert store.taken(1, "final", ["a", "b", "z"]) == {"a": "1-3"}
    assert store.compact(1, "final", 3) == (2, 6)
    assert store.compacted(1, "final", "a") == [1, 2]
    assert store.last(1, ["a", "b"]) == {("a", "final"): (3, b"i" * 16)}


def test_shares_wait_in_pools_and_are_opened_once(store: Store) -> None:
    pool = Pool("final", 1, 0)
    names = ["a", "b", "c"]
    rows = [row(name)._replace(id=name.encode() * 16) for name in names]
    shares = [ShareRow(id=r.id, device=r.device, pool=pool) for r in rows]
    with store.transaction():
        store.insert(1, rows)
        store.put_shares(1, shares)
        store.mark_proposed(1, [rows[0].id])
    assert store.waiting_shares(1) == {pool: 3}
    assert store.share_ids(1, pool) == [r.id for r in rows]
    assert store.share_ids(1, pool, 1) == [rows[0].id]
    assert store.shares_of(1, "a") == [(rows[0].id, True)]
    assert list(store.payloads(1, [rows[1].id])) == [(100, b"raw")]
    pending = CohortRow(pool=pool, number=1, state=PENDING, at=1.0)
    opened = CohortRow(pool=pool, number=1, state=OPENED, at=2.0, devices=2, own=b"o", other=b"x")
    with store.transaction():
        store.put_cohort(1, pending)
        assert store.last_cohorts(1) == {pool: (1, True)}
        store.close_cohort(1, opened, [r.id for r in rows[:2]])
        store.put_shares(1, shares[:1])  # of what was opened nothing is kept again
        store.put_noise_key(1, pool, 1, b"old")
        store.put_noise_key(1, pool, 1, b"key")
    assert store.cohorts(1) == list(store.opened_cohorts(1, "final")) == [opened]
    assert store.last_cohorts(1) == {pool: (1, False)}
    assert store.waiting_shares(1) == {pool: 1}
    assert (store.opened_of(1, "a"), store.opened_of(1, "c")) == (1, 0)
    assert [r.raw for r in store.reports(1)] == [b"", b"", b"raw"]
    assert (store.noise_key(1, pool, 1), store.noise_key(1, pool, 2)) == (b"key", b"")


def test_devices_are_found_by_their_state(store: Store) -> None:
    about = {"key": 1, "name": "test", "stage": "final"}
    with store.transaction():
        store.enrol("test", ["a", "s", "w"], 1.0)
        store.insert(1, [row("a"), row("u"), row("w", "screening")])
        store.put_instances(1, {"i": b"1" * 16})
        store.withdraw(1, "x", 1.0)
    found = {state: store.list_devices(about, state, -1) for state in STATES}
    assert found == {
        "reported": ["a", "u"],
        "waiting": ["i", "w"],
        "silent": ["s"],
        "withdrawn": ["x"],
        "missing": ["s", "w"],
        "excused": [],
        "unlisted": ["u"],
    }
    assert {s: store.count_devices(about, s) for s in STATES} == {s: len(found[s]) for s in STATES}
    assert store.list_devices(about, "reported", 1, after="a") == ["u"]
    assert store.known_devices(1, "test") == ["a", "i", "s", "u", "w", "x"]


def test_texts_are_texts_and_never_statements(store: Store) -> None:
    """Whatever gets as far as a store, in any field."""
    evil = """'; DROP TABLE report; -- %s %(x)s ? :name \\ " $1 {} \u2028"""
    told = replace(refusal(1), task=evil, device=evil, stage=evil, reason=evil, detail=evil + "\0")
    with store.transaction():
        store.insert(1, [row(evil)._replace(stage=evil)])
        store.put_instances(1, {evil: b"1" * 16})
        store.enrol(evil, [evil], 1.0)
        store.put_setting(evil, evil)
        store.put_published(1, evil, PublishedRow(body=b"", version=1, change=1, at=1.0))
        store.refuse([told])
        store.put_taken(1, evil, {evil: ("", "1")})
    assert store.lookup(1, [(evil, evil, 1)]) == {(evil, evil, 1): b"i" * 16}
    assert store.receipts_of(1, evil) == {(evil, evil, 1): b"i" * 16}
    assert store.instances(1, [evil]) == {evil: b"1" * 16}
    assert store.on_roster(evil, -1) == [evil]
    assert store.listed(evil, [evil]) == {evil}
    assert store.setting(evil) == evil
    assert store.taken(1, evil, [evil]) == {evil: "1"}
    (kept,) = store.refused(1, evil)
    assert (kept.reason, kept.detail[: len(evil)]) == (evil, evil)
    with store.transaction():
        assert [r.device for r in store.withdraw(1, evil, 1.0)] == [evil]
    assert store.withdrawn(1, [evil]) == {evil}
