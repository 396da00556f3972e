"""What the broker retains: put there at every start, put right by whichever worker is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.publication import Publication
from aggregator.retained import REPEAT_SECONDS
from aggregator.store.errors import StoreBusyError, StoreError
from tests.aggregator.batches import deliver, kinds, start, started
from tests.aggregator.federations import make_task, report, screening_task, topic

TASK = make_task(p=3, records=60)


def test_a_start_publishes_the_task_and_a_restart_everything_that_was_retained(
    tmp_path: Path,
) -> None:
    task = screening_task(quorum=2)
    first, published = start(tmp_path / "s.db", task)
    retained_task = Publication("fsir/1/screened/task", task.encode(), qos=1)
    assert published == [retained_task]
    active = [p for p in deliver(first, task, range(2)) if p.topic.endswith("active")]
    first.jobs(1.0)
    stage = first.federations["screened"].layouts["final"].stage
    first.take(topic(task, "d0"), report(task, "d0", 7, stage))
    first.commit(2.0)
    subspace = first.estimate(3.0)
    first.store.close()
    again, published = start(tmp_path / "s.db", task)
    repeated = [p for p in published if "receipt" not in p.topic]
    assert repeated == [retained_task, *active, *subspace]
    assert again.estimate(9.0) == []  # nothing has changed


def test_a_changed_task_needs_a_higher_epoch_and_clears_what_was_retained(tmp_path: Path) -> None:
    first = started(tmp_path / "s.db", TASK)
    deliver(first, TASK, range(3))
    first.estimate(2.0)
    first.store.close()
    with pytest.raises(StoreError, match="give it epoch 2 or a new name"):
        start(tmp_path / "s.db", make_task(p=3, records=61))
    second, published = start(tmp_path / "s.db", make_task(p=3, records=61, epoch=2))
    assert kinds(published) == ["task", "active", "subspace"]
    assert [p.payload for p in published[1:]] == [b"", b""]
    assert second.store.totals(second.federations["test"].key, "final").devices == 0
    second.store.close()
    with pytest.raises(StoreError, match="the store holds another edition with epoch 2"):
        start(tmp_path / "s.db", TASK)


@pytest.mark.parametrize("kind", ["active", "subspace"])
def test_what_a_worker_stored_before_it_ended_is_published_by_another(
    tmp_path: Path, kind: str
) -> None:
    task = screening_task(quorum=2) if kind == "active" else TASK
    one = started(tmp_path / "s.db", task)
    other = started(tmp_path / "s.db", task)
    lost = deliver(one, task, range(2), 1000.0)
    lost += one.estimate(1000.0)
    assert kinds(lost).count(kind) == 1
    assert other.tick(1000.0 + REPEAT_SECONDS - 1.0) == []  # nearly always it has been published
    repeated = other.tick(1000.0 + REPEAT_SECONDS)
    assert [p.payload for p in repeated] == [p.payload for p in lost if p.topic.endswith(kind)]
    assert other.tick(1e6) == one.tick(1e6) == []


def test_what_was_found_before_the_store_failed_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = started(tmp_path / "s.db", TASK)
    other = started(tmp_path / "s.db", TASK)
    deliver(one, TASK, range(3), 1000.0)
    (made,) = one.estimate(1000.0)
    one.withdraw("d1", 1001.0)
    late = 1000.0 + REPEAT_SECONDS

    def fails(task: int) -> int:
        raise StoreBusyError("no")

    with monkeypatch.context() as failing:
        failing.setattr(other.store, "decisions", fails)
        with pytest.raises(StoreBusyError):
            other.tick(late)
    assert other.tick(late)[0] == made
    assert other.tick(late) == []


def test_what_is_old_when_a_worker_has_connected_is_put_right(tmp_path: Path) -> None:
    """Between reading what is retained and publishing it, another may publish something newer."""
    first = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(first, TASK, range(2), 1000.0)
    first.estimate(1000.0)
    late, stale = start(tmp_path / "s.db", TASK)
    deliver(first, TASK, range(2, 4), 1001.0)
    (newest,) = first.estimate(1002.0)
    assert newest.payload not in [p.payload for p in stale]
    assert late.tick(1100.0) == [newest]
    assert first.tick(1100.0) == []
