"""Trimmed federations: the store's reports, opened again, bounded in memory, never a mixture of two states."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggregator.core import Aggregator
from aggregator.results import gathering
from aggregator.results.gathering import gather
from aggregator.store.base import Store, StoreBusyError, StoreError
from aggregator.store.sqlite import SqliteStore
from fsir.contract import task_from_table
from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Subspace
from tests.aggregator.federations import make_task, release_of, report, screening_task, topic

TASK = make_task(p=3, records=60, aggregation="trimmed")
K = 9


def start(path: Path, task: Task = TASK) -> Aggregator:
    made = Aggregator(SqliteStore(path), [task], debounce=0.0)
    made.start(0.0)
    return made


def deliver(made: Aggregator, task: Task, devices: range, **changes: Any) -> list[Any]:
    for i in devices:
        made.take(topic(task, f"d{i}"), report(task, f"d{i}", i, **changes))
    return made.commit(1.0)


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
    made = start(tmp_path / "s.db")
    deliver(made, TASK, range(K))
    monkeypatch.setattr(gathering, "MOST_BYTES", room)
    monkeypatch.setattr(gathering, "_AT_ONCE", 40)  # two reports at a time
    assert gathered(made.store, made) == expected(TASK, range(K))


def test_values_that_are_long_are_added_exactly(tmp_path: Path) -> None:
    silent = make_task(
        p=3, records=60, aggregation="trimmed", privacy={"epsilon": 1.0, "mechanism": "none"}
    )
    made = start(tmp_path / "s.db", silent)
    deliver(made, silent, range(K))
    found = gathered(made.store, made)
    assert found == expected(silent, range(K))
    assert max(found) > 2**31


def test_an_estimate_sees_the_store_of_one_moment(tmp_path: Path) -> None:
    """Reports that are counted and withdrawn meanwhile belong to the next estimate."""
    made = start(tmp_path / "s.db")
    deliver(made, TASK, range(K))
    with made.store.snapshot() as snapshot:
        assert snapshot.totals(1, "final").devices == K
        deliver(made, TASK, range(K, K + 5))
        made.withdraw("d2", 2.0)
        assert gathered(snapshot, made) == expected(TASK, range(K))
    assert gathered(made.store, made) == expected(TASK, (i for i in range(K + 5) if i != 2))


def test_an_estimate_that_overtakes_its_job_is_repeated_and_nothing_is_lost(tmp_path: Path) -> None:
    made = start(tmp_path / "s.db")
    deliver(made, TASK, range(K))
    (job,) = made.jobs(1.0)
    deliver(made, TASK, range(K, K + 3))
    with ThreadPoolExecutor(1) as elsewhere:  # as the daemon does
        result = elsewhere.submit(job.run).result()
    assert result is not None
    assert result.devices == K + 3
    made.estimating.publish(job, result, 2.0)
    (again,) = made.estimate(13.0)
    found = decode(again.payload, Subspace)
    assert isinstance(found, messages.Subspace)
    assert (found.version, found.basis.tobytes()) == (2, result.basis.tobytes())
    assert made.estimate(14.0) == []


@pytest.mark.parametrize(("aggregation", "pause"), [("sum", 0.0), ("trimmed", 30.0)])
def test_trimming_takes_a_tenth_of_the_time(tmp_path: Path, aggregation: str, pause: float) -> None:
    task = task_from_table(TASK.table() | {"aggregation": aggregation})
    made = start(tmp_path / "s.db", task)
    deliver(made, task, range(K))
    (job,) = made.jobs(100.0)
    made.estimating.publish(job, job.run(), 103.0)  # it took three seconds
    deliver(made, task, range(K, K + 1))
    assert bool(made.estimate(129.0)) == (pause == 0.0)
    assert bool(made.estimate(130.0)) == (pause > 0.0)


def test_a_store_that_cannot_be_read_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = start(tmp_path / "s.db")
    deliver(made, TASK, range(K))

    @contextmanager
    def busy() -> Iterator[Store]:
        raise StoreBusyError("the disk is gone")
        yield made.store

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(made.store, "snapshot", busy)
        assert made.estimate(2.0) == []
    assert "the disk is gone" in caplog.text
    assert len(made.estimate(3.0)) == 1


def test_reports_that_are_missing_are_noticed(tmp_path: Path) -> None:
    made = start(tmp_path / "s.db")
    deliver(made, TASK, range(K))
    row = made.store.totals(1, "final")
    with made.store.transaction():
        made.store.put_totals(
            1, "final", replace(row, devices=row.devices - 1, records=row.records - 60)
        )
    with pytest.raises(StoreError, match="9 stored reports where 8 are counted"):
        gathered(made.store, made)


def test_without_any_report_left_there_is_no_subspace(tmp_path: Path) -> None:
    made = start(tmp_path / "s.db")
    deliver(made, TASK, range(1))
    made.estimate(2.0)
    made.withdraw("d0", 3.0)
    assert [p.payload for p in made.estimate(4.0)] == [b""]


# --- screening --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregation", ["sum", "trimmed"])
def test_two_liars_of_twelve_choose_no_feature_of_a_trimmed_screening(
    tmp_path: Path, aggregation: str
) -> None:
    """They say that all their records are in one class and as long as the clip, in a feature that tells nothing."""
    plain = screening_task(quorum=12)
    task = task_from_table(plain.table() | {"aggregation": aggregation})
    made = start(tmp_path / "s.db", task)
    stage = first_stage(task)
    sums = np.zeros((stage.p, stage.columns))
    sums[7, 0] = 200 * stage.norm
    for i in range(2):
        honest = release_of(task, stage, i).blocks
        lie = (np.rint(sums.reshape(-1) / stage.sums.worth).astype(np.int64), *honest[1:])
        made.take(topic(task, f"liar{i}"), report(task, f"liar{i}", i, blocks=lie))
    published = deliver(made, task, range(10))
    assert made.verdicts["screened", "counted"] == 12
    (active,) = [decode(p.payload, Active) for p in published if p.topic.endswith("active")]
    assert isinstance(active, messages.Active)
    assert ("x7" in active.features) == (aggregation == "sum")


def test_a_fruitless_screening_is_not_gathered_again_with_every_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    task = task_from_table(
        screening_task(quorum=8, select="significant").table() | {"aggregation": "trimmed"}
    )
    made = start(tmp_path / "s.db", task)
    stage = first_stage(task)
    nothing = tuple(np.zeros(block.size, np.int64) for block in stage.blocks)
    nothing[1][...] = 200 // 3
    seen: list[int] = []

    def watched(store: Store, *more: Any) -> Any:
        seen.append(store.totals(1, "screening").devices)
        return gather(store, *more)

    monkeypatch.setattr("aggregator.results.activation.gather", watched)
    with caplog.at_level(logging.ERROR, "fsir.aggregator"):
        for i in range(20):
            deliver(made, task, range(i, i + 1), blocks=nothing)
    assert seen == [8, 9, 11, 13, 15, 17, 20]
    # As soon as something stands out it is found.
    assert any(p.topic.endswith("active") for p in deliver(made, task, range(20, 200)))
