"""What is published when: the task, the active set once and for all, the subspace whenever it has changed."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aggregator.core as module
from aggregator.core import Aggregator
from aggregator.publication import Publication
from aggregator.results import estimates
from aggregator.retained import REPEAT_SECONDS
from aggregator.store.base import StoreBusyError, StoreError
from aggregator.store.sqlite import SqliteStore
from fsir.privacy.plan import final_stage
from fsir.task.task import Task
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Receipt, Subspace
from tests.aggregator.federations import make_task, report, screening_task, topic

TASK = make_task(p=3, records=60)


def start(path: Path, *tasks: Task, **options: Any) -> tuple[Aggregator, list[Publication]]:
    made = Aggregator(SqliteStore(path), tasks or (TASK,), **options)
    return made, made.start(0.0)


def deliver(
    aggregator: Aggregator, task: Task, devices: range, now: float, **changes: Any
) -> list[Publication]:
    """First reports of some devices, in one batch."""
    for i in devices:
        aggregator.take(topic(task, f"d{i}"), report(task, f"d{i}", i, **changes))
    return aggregator.commit(now)


def kinds(publications: list[Publication]) -> list[str]:
    return [publication.topic.split("/")[3] for publication in publications]


def active_of(publications: list[Publication]) -> messages.Active:
    (found,) = [p for p in publications if p.topic.endswith("/active")]
    message = decode(found.payload, Active)
    assert isinstance(message, messages.Active)
    return message


# --- start ------------------------------------------------------------------------------------------------------------


def test_a_start_publishes_the_task_and_a_restart_everything_that_was_retained(
    tmp_path: Path,
) -> None:
    task = screening_task(quorum=2)
    first, published = start(tmp_path / "s.db", task)
    assert [(p.topic, p.payload, p.qos) for p in published] == [
        ("fsir/1/screened/task", task.encode(), 1)
    ]
    active = [p for p in deliver(first, task, range(2), 1.0) if p.topic.endswith("active")]
    first.jobs(1.0)
    stage = first.federations["screened"].layouts["final"].stage
    first.take(topic(task, "d0"), report(task, "d0", 7, stage))
    first.commit(2.0)
    subspace = first.estimate(3.0)
    first.store.close()
    again, published = start(tmp_path / "s.db", task)
    assert [p for p in published if "receipt" not in p.topic] == [
        Publication("fsir/1/screened/task", task.encode()), *active, *subspace,
    ]  # fmt: skip
    assert again.estimate(9.0) == []  # nothing has changed


def test_after_a_start_all_receipts_are_repeated_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash may have held the last ones back, and a broker may have lost the others."""
    monkeypatch.setattr(module, "RECEIPTS_AT_ONCE", 4)
    first, _ = start(tmp_path / "s.db")
    told = [p for batch in (range(3), range(3, 10)) for p in deliver(first, TASK, batch, 1.0)]
    assert first.receipts() == []  # they have just been sent
    first.withdraw("d1", 2.0)
    first.store.close()
    again, published = start(tmp_path / "s.db")
    assert kinds(published) == ["task"]
    deliver(again, TASK, range(10, 12), 3.0)
    pages = [again.receipts() for _ in range(5)]
    assert [len(page) for page in pages] == [4, 4, 1, 0, 0]
    assert pages[0][0].topic.endswith("/d9")  # the newest first
    assert {p for page in pages for p in page} == {p for p in told if not p.topic.endswith("/d1")}


def test_a_changed_task_needs_a_higher_epoch_and_clears_what_was_retained(tmp_path: Path) -> None:
    first, _ = start(tmp_path / "s.db")
    deliver(first, TASK, range(3), 1.0)
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


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="another name"):
        start(tmp_path / "s.db", TASK, make_task(p=3, records=61))


def test_two_tasks_do_not_touch_each_other(tmp_path: Path) -> None:
    other = make_task(p=5, records=60, name="other")
    both, _ = start(tmp_path / "s.db", TASK, other)
    for i in range(4):
        both.take(topic(TASK, f"d{i}"), report(TASK, f"d{i}", i))
        both.take(topic(other, f"d{i}"), report(other, f"d{i}", i))
    both.commit(1.0)
    alone, _ = start(tmp_path / "t.db", other)
    deliver(alone, other, range(4), 1.0)
    key = both.federations["other"].key
    assert both.store.totals(key, "final").values == alone.store.totals(1, "final").values
    assert kinds(both.estimate(2.0)) == ["subspace", "subspace"]


# --- the active set ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dense", "votes"])
def test_the_active_set_comes_with_the_quorum_once_and_for_all(tmp_path: Path, method: str) -> None:
    task = screening_task(method, quorum=4)
    made, _ = start(tmp_path / "s.db", task)
    assert kinds(deliver(made, task, range(3), 1.0)) == ["receipt"] * 3
    published = deliver(made, task, range(3, 5), 2.0)
    assert kinds(published) == ["receipt", "receipt", "active"]
    assert active_of(published).devices == 5
    assert active_of(published).features == ("x0", "x1", "x2")  # where the classes have their means
    # Later screening reports are counted and change nothing.
    assert kinds(deliver(made, task, range(5, 9), 3.0)) == ["receipt"] * 4
    assert made.store.totals(1, "screening").devices == 9
    assert made.tick(1e9) == []


def test_the_active_set_comes_after_the_waiting_time(tmp_path: Path) -> None:
    task = screening_task(quorum=100, wait_seconds=60.0)
    made, _ = start(tmp_path / "s.db", task)
    assert made.tick(1e6) == []  # the time runs from the first report on
    deliver(made, task, range(3), 1000.0)
    assert made.tick(1059.0) == []
    made.store.close()
    again, _ = start(tmp_path / "s.db", task)  # a restart does not start the waiting anew
    assert kinds(again.tick(1060.0)) == ["active"]
    assert again.tick(1061.0) == []


def test_another_worker_learns_of_the_active_set_from_the_store(tmp_path: Path) -> None:
    task = screening_task(quorum=2)
    first, _ = start(tmp_path / "s.db", task)
    second, _ = start(tmp_path / "s.db", task)
    chosen = active_of(deliver(first, task, range(2), 1.0)).features
    stage = final_stage(task, tuple(int(name[1:]) for name in chosen))
    second.take(topic(task, "d0"), report(task, "d0", 9, stage))
    receipt = decode(second.commit(2.0)[0].payload, Receipt)
    assert isinstance(receipt, messages.Receipt)
    assert receipt.verdicts["final"].status == "counted"


@pytest.mark.parametrize("kind", ["active", "subspace"])
def test_what_a_worker_stored_before_it_ended_is_published_by_another(
    tmp_path: Path, kind: str
) -> None:
    task = screening_task(quorum=2) if kind == "active" else TASK
    (one, _), (other, _) = start(tmp_path / "s.db", task), start(tmp_path / "s.db", task)
    lost = deliver(one, task, range(2), 1000.0)
    lost += one.estimate(1000.0)
    assert kinds(lost).count(kind) == 1
    assert other.tick(1000.0 + REPEAT_SECONDS - 1.0) == []  # nearly always it has been published
    repeated = other.tick(1000.0 + REPEAT_SECONDS)
    assert [p.payload for p in repeated] == [p.payload for p in lost if p.topic.endswith(kind)]
    assert other.tick(1e6) == one.tick(1e6) == []


def test_what_is_old_when_a_worker_has_connected_is_put_right(tmp_path: Path) -> None:
    """A start reads what is retained; before that is on the wire, another worker publishes something newer."""
    first, _ = start(tmp_path / "s.db", debounce=0.0)
    deliver(first, TASK, range(2), 1000.0)
    first.estimate(1000.0)
    late, stale = start(tmp_path / "s.db")
    deliver(first, TASK, range(2, 4), 1001.0)
    (newest,) = first.estimate(1002.0)
    assert newest.payload not in [p.payload for p in stale]
    assert late.tick(1100.0) == [newest]
    assert first.tick(1100.0) == []


def test_an_active_set_is_never_larger_than_the_task_allows(tmp_path: Path) -> None:
    task = screening_task("votes", quorum=2, limit=2)
    made, _ = start(tmp_path / "s.db", task)
    votes = np.zeros((8, 3), np.bool_)
    votes[[1, 4, 6]] = [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
    assert active_of(deliver(made, task, range(2), 1.0, votes=votes)).features == ("x4", "x6")


def test_while_nothing_stands_out_the_active_set_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task = screening_task("votes", quorum=1)
    made, _ = start(tmp_path / "s.db", task)
    nobody = np.zeros((8, 3), np.bool_)
    with caplog.at_level(logging.WARNING):
        assert kinds(deliver(made, task, range(1), 1.0, votes=nobody)) == ["receipt"]
    assert "no feature stands out among 1" in caplog.text
    assert kinds(deliver(made, task, range(1, 3), 2.0))[-1] == "active"


def test_a_failed_transaction_does_not_pin_an_active_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = screening_task(quorum=2)
    made, _ = start(tmp_path / "s.db", task)

    def full(*_: Any) -> None:
        raise StoreBusyError("the disk is full, after the active set was chosen")

    made.take(topic(task, "x"), b"garbage")
    with monkeypatch.context() as patch:
        patch.setattr(made.store, "refuse", full)
        with pytest.raises(StoreBusyError):
            deliver(made, task, range(2), 1.0)
    assert made.store.published(1, "active") is None
    assert made.federations["screened"].active is None
    assert kinds(made.commit(2.0)) == ["receipt", "receipt", "receipt", "active"]


# --- the subspace -----------------------------------------------------------------------------------------------------


def test_the_subspace_follows_the_reports_with_a_pause(tmp_path: Path) -> None:
    made, _ = start(tmp_path / "s.db", debounce=10.0)
    assert made.estimate(0.0) == []
    deliver(made, TASK, range(3), 1.0)
    assert made.estimate(5.0) == []  # too early
    (first,) = made.estimate(10.0)
    deliver(made, TASK, range(3, 5), 11.0)
    assert made.estimate(12.0) == []
    (second,) = made.estimate(20.0)
    found = [decode(p.payload, Subspace) for p in (first, second)]
    assert [(f.version, f.devices, f.records) for f in found] == [(1, 3, 180), (2, 5, 300)]  # type: ignore[union-attr]
    assert made.estimate(30.0) == []  # nothing new


def test_only_one_of_two_workers_publishes_a_version(tmp_path: Path) -> None:
    first, _ = start(tmp_path / "s.db", debounce=0.0)
    second, _ = start(tmp_path / "s.db", debounce=0.0)
    deliver(first, TASK, range(3), 1.0)
    (job,), (same,) = first.jobs(2.0), second.jobs(2.0)
    assert len(first.estimating.publish(job, job.run(), 2.0)) == 1
    assert second.estimating.publish(same, same.run(), 2.0) == []


def test_an_estimate_that_fails_is_not_repeated_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made, _ = start(tmp_path / "s.db", debounce=0.0)
    deliver(made, TASK, range(3), 1.0)

    def fails(*_: Any, **__: Any) -> None:
        raise np.linalg.LinAlgError("does not converge")

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(estimates.subspace, "estimate", fails)
        assert made.estimate(2.0) == []
        assert made.estimate(3.0) == []
    assert caplog.text.count("the estimate from 3 devices failed") == 1
    deliver(made, TASK, range(3, 4), 4.0)
    assert kinds(made.estimate(5.0)) == ["subspace"]


def test_when_everybody_is_withdrawn_the_retained_subspace_is_cleared(tmp_path: Path) -> None:
    made, _ = start(tmp_path / "s.db", debounce=0.0)
    deliver(made, TASK, range(1), 1.0)
    made.estimate(2.0)
    made.withdraw("d0", 3.0)
    assert made.estimate(4.0) == [Publication("fsir/1/test/subspace", b"")]
    assert made.estimate(5.0) == []
    deliver(made, TASK, range(1, 2), 6.0)
    (found,) = [decode(p.payload, Subspace) for p in made.estimate(7.0)]
    assert isinstance(found, messages.Subspace)
    assert (found.version, found.devices) == (3, 1)
