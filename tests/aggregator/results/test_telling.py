"""Who was withdrawn or let in again is told once; a worker with nothing to tell reads little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aggregator import merging
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt
from tests.aggregator.batches import deliver, started
from tests.aggregator.federations import make_task

TASK = make_task(p=3, records=60)


def test_the_tables_are_read_only_when_somebody_has_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker looks five times a second, and there may be very many who were withdrawn."""
    aggregator = started(tmp_path / "s.db", TASK)
    deliver(aggregator, TASK, range(3))
    store = aggregator.store
    real = store.withdrawn
    whole: list[int] = []

    def withdrawn(task: int, devices: Any = None) -> set[str]:
        if devices is None:
            whole.append(task)
        return real(task, devices)

    monkeypatch.setattr(store, "withdrawn", withdrawn)
    for second in range(5):
        assert aggregator.tick(2.0 + second) == []
    assert whole == [1]  # at the start, once
    aggregator.withdraw("d1", 8.0)
    assert len(aggregator.tick(9.0)) == 1
    assert aggregator.tick(10.0) == []
    assert whole == [1, 1]
    merging.readmit(store, aggregator.federations["test"], "d1")
    (told,) = aggregator.tick(11.0)
    assert decode(told.payload, Receipt).verdicts == {}
    assert aggregator.tick(12.0) == []
    assert whole == [1, 1, 1]


def test_two_workers_each_tell_those_on_their_own_broker(tmp_path: Path) -> None:
    one = started(tmp_path / "s.db", TASK)
    other = started(tmp_path / "s.db", TASK)
    deliver(one, TASK, range(2))
    assert one.tick(2.0) == other.tick(2.0) == []
    one.withdraw("d0", 3.0)
    told = one.tick(4.0)
    assert len(told) == 1
    assert other.tick(4.0) == told
