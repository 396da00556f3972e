"""Receipts of what was counted before, where devices do not ask; nothing where they do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.results import repeating
from aggregator.store.rows import ReportRow
from tests.aggregator.batches import deliver, kinds, start, started
from tests.aggregator.federations import make_task

TASK = make_task(p=3, records=60)
OLD = replace(TASK, version=1)
COUNTED = 100_000


def test_after_a_start_all_receipts_are_repeated_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody asks; a crash may have held some back, and a broker may have lost the others."""
    monkeypatch.setattr(repeating, "RECEIPTS_AT_ONCE", 4)
    first = started(tmp_path / "s.db", OLD)
    told = [p for batch in (range(3), range(3, 10)) for p in deliver(first, OLD, batch)]
    assert first.receipts() == []  # they have just been sent
    first.withdraw("d1", 2.0)
    first.store.close()
    again, published = start(tmp_path / "s.db", OLD)
    assert kinds(published) == ["task"]
    deliver(again, OLD, range(10, 12), 3.0)
    pages = [again.receipts() for _ in range(5)]
    assert [len(page) for page in pages] == [4, 4, 1, 0, 0]
    assert pages[0][0].topic.endswith("/d9")  # the newest first
    assert {p for page in pages for p in page} == {p for p in told if not p.topic.endswith("/d1")}


def test_where_devices_ask_a_new_connection_repeats_no_receipts(tmp_path: Path) -> None:
    """However many devices were counted: a worker has a handful of things to say."""
    aggregator = started(tmp_path / "s.db", TASK)
    (first,) = deliver(aggregator, TASK, range(1))
    rows = (
        ReportRow(device=f"d{i}", stage="final", id=bytes(16), n=60, raw=b"", at=1.0)
        for i in range(1, COUNTED)
    )
    with aggregator.store.transaction():
        aggregator.store.insert(1, rows)
    assert len(aggregator.store.last(1, ["d0", f"d{COUNTED - 1}"])) == 2
    aggregator.estimate(2.0)
    said = aggregator.start(3.0) + aggregator.receipts() + aggregator.tick(4.0)
    assert kinds(said) == ["task", "subspace"]
    assert aggregator.receipts() == []
    assert not first.retain
