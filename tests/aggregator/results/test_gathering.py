"""Trimmed sums: the stored reports, opened again, in bounded memory, never a mix of two states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aggregator.core import Aggregator
from aggregator.results import gathering
from aggregator.results.gathering import gather
from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from tests.aggregator.batches import deliver, started
from tests.aggregator.federations import make_task, release_of

TASK = make_task(p=3, records=60, aggregation="trimmed")
K = 9


def expected(task: Task, devices: Iterable[int]) -> list[int]:
    """By hand: sorted values without the outer quarters, added as whole numbers."""
    rows = [np.concatenate(release_of(task, first_stage(task), i).blocks) for i in devices]
    c = len(rows) // 4
    return [sum(sorted(column)[c : len(rows) - c]) for column in np.stack(rows).T.tolist()]


def gathered(store: Store, made: Aggregator) -> list[int]:
    (federation,) = made.federations.values()
    return np.concatenate(gather(store, federation).blocks).tolist()


@pytest.mark.parametrize("room", [1, 8 * K * 2, gathering.MOST_BYTES])
def test_any_amount_of_memory_gives_the_same_integers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    made = started(tmp_path / "s.db", TASK)
    deliver(made, TASK, range(K))
    monkeypatch.setattr(gathering, "MOST_BYTES", room)
    monkeypatch.setattr(gathering, "_AT_ONCE", 40)  # two reports at a time
    assert gathered(made.store, made) == expected(TASK, range(K))


def test_values_that_are_long_are_added_exactly(tmp_path: Path) -> None:
    silent = make_task(
        p=3, records=60, aggregation="trimmed", privacy={"epsilon": 1.0, "mechanism": "none"}
    )
    made = started(tmp_path / "s.db", silent)
    deliver(made, silent, range(K))
    sums = gathered(made.store, made)
    assert sums == expected(silent, range(K))
    assert max(sums) > 2**31


def test_an_estimate_sees_the_store_as_it_was_at_one_time(tmp_path: Path) -> None:
    """Reports that are counted and withdrawn meanwhile belong to the next estimate."""
    made = started(tmp_path / "s.db", TASK)
    deliver(made, TASK, range(K))
    with made.store.snapshot() as snapshot:
        assert snapshot.totals(1, "final").devices == K
        deliver(made, TASK, range(K, K + 5))
        made.withdraw("d2", 2.0)
        assert gathered(snapshot, made) == expected(TASK, range(K))
    assert gathered(made.store, made) == expected(TASK, (i for i in range(K + 5) if i != 2))


def test_reports_that_are_missing_are_noticed(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK)
    deliver(made, TASK, range(K))
    row = made.store.totals(1, "final")
    fewer = replace(row, devices=row.devices - 1, records=row.records - 60)
    with made.store.transaction():
        made.store.put_totals(1, "final", fewer)
    with pytest.raises(StoreError, match="9 stored reports where 8 are counted"):
        gathered(made.store, made)


@pytest.mark.parametrize("width", [1, 8, 30, 159_327])
@pytest.mark.parametrize("most", [1, 8, 29, 100_000])
def test_pieces_are_few_and_make_up_the_whole(width: int, most: int) -> None:
    pieces = list(gathering._pieces(width, most))
    starts, stops = zip(*pieces, strict=True)
    assert (starts[0], *stops) == (*starts, width)
    longest = max(stop - start for start, stop in pieces)
    assert longest <= max(most, 8)
    assert len(pieces) <= -(-width // max(8, most - 7))
