"""The active set: once and for all, by quorum or by time, from whatever was counted."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggregator.results.gathering import gather
from aggregator.retained import REPEAT_SECONDS
from aggregator.store.base import Store
from aggregator.store.errors import StoreBusyError
from fsir.contract import task_from_table
from fsir.privacy.plan import final_stage, first_stage
from tests.aggregator.batches import active_of, deliver, kinds, started, verdict_of
from tests.aggregator.federations import release_of, report, screening_task, topic


@pytest.mark.parametrize("method", ["dense", "votes"])
def test_the_active_set_comes_with_the_quorum_once_and_for_all(tmp_path: Path, method: str) -> None:
    task = screening_task(method, quorum=4)
    made = started(tmp_path / "s.db", task)
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
    made = started(tmp_path / "s.db", task)
    assert made.tick(1e6) == []  # the time runs from the first report on
    deliver(made, task, range(3), 1000.0)
    assert made.tick(1059.0) == []
    made.store.close()
    again = started(tmp_path / "s.db", task)  # a restart does not start the waiting anew
    assert kinds(again.tick(1060.0)) == ["active"]
    assert again.tick(1061.0) == []


def test_another_worker_learns_of_the_active_set_from_the_store(tmp_path: Path) -> None:
    task = screening_task(quorum=2)
    first = started(tmp_path / "s.db", task)
    second = started(tmp_path / "s.db", task)
    chosen = active_of(deliver(first, task, range(2))).features
    stage = final_stage(task, tuple(int(name[1:]) for name in chosen))
    verdict = verdict_of(second, topic(task, "d0"), report(task, "d0", 9, stage), 2.0)
    assert verdict.status == "counted"


def test_an_active_set_whose_commit_was_not_answered_is_published_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost while the server commits: it is stored, and nobody has been told."""
    made = started(tmp_path / "s.db", screening_task(quorum=2))
    whole = made.store.transaction

    @contextmanager
    def unanswered() -> Iterator[None]:
        with whole():
            yield
        raise StoreBusyError("the connection is lost")

    with monkeypatch.context() as lost:
        lost.setattr(made.store, "adding", whole)
        lost.setattr(made.store, "transaction", unanswered)
        assert kinds(deliver(made, screening_task(quorum=2), range(3))) == ["receipt"] * 3
    assert made.store.published(1, "active") is not None
    assert kinds(made.tick(1.0 + REPEAT_SECONDS)) == ["active"]
    assert made.tick(2.0 + REPEAT_SECONDS) == []


def test_an_active_set_is_never_larger_than_the_task_allows(tmp_path: Path) -> None:
    task = screening_task("votes", quorum=2, limit=2)
    made = started(tmp_path / "s.db", task)
    votes = np.zeros((8, 3), np.bool_)
    votes[[1, 4, 6]] = [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
    assert active_of(deliver(made, task, range(2), votes=votes)).features == ("x4", "x6")


def test_while_nothing_stands_out_the_active_set_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task = screening_task("votes", quorum=1)
    made = started(tmp_path / "s.db", task)
    nobody = np.zeros((8, 3), np.bool_)
    with caplog.at_level(logging.WARNING):
        assert kinds(deliver(made, task, range(1), votes=nobody)) == ["receipt"]
    assert "no feature stands out among 1" in caplog.text
    assert kinds(deliver(made, task, range(1, 3), 2.0))[-1] == "active"


def test_a_failed_transaction_does_not_pin_an_active_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = screening_task(quorum=2)
    made = started(tmp_path / "s.db", task)

    def full(*_: Any) -> None:
        raise StoreBusyError("the disk is full, after the active set was chosen")

    made.take(topic(task, "x"), b"garbage")
    with monkeypatch.context() as patch:
        patch.setattr(made.store, "refuse", full)
        with pytest.raises(StoreBusyError):
            deliver(made, task, range(2))
    assert made.store.published(1, "active") is None
    assert made.federations["screened"].active is None
    assert kinds(made.commit(2.0)) == ["receipt", "receipt", "receipt", "active"]


@pytest.mark.parametrize("aggregation", ["sum", "trimmed"])
def test_two_liars_of_twelve_choose_no_feature_of_a_trimmed_screening(
    tmp_path: Path, aggregation: str
) -> None:
    """They say that all their records are in one class and as long as the clip.

    That is in a feature that tells nothing.
    """
    plain = screening_task(quorum=12)
    task = task_from_table(plain.table() | {"aggregation": aggregation})
    made = started(tmp_path / "s.db", task, debounce=0.0)
    stage = first_stage(task)
    sums = np.zeros((stage.p, stage.columns))
    sums[7, 0] = 200 * stage.norm
    for i in range(2):
        honest = release_of(task, stage, i).blocks
        lie = (np.rint(sums.reshape(-1) / stage.sums.worth).astype(np.int64), *honest[1:])
        made.take(topic(task, f"liar{i}"), report(task, f"liar{i}", i, blocks=lie))
    published = deliver(made, task, range(10))
    assert made.verdicts["screened", "counted"] == 12
    assert ("x7" in active_of(published).features) == (aggregation == "sum")


def test_a_fruitless_screening_is_not_gathered_again_with_every_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plain = screening_task(quorum=8, select="significant")
    task = task_from_table(plain.table() | {"aggregation": "trimmed"})
    made = started(tmp_path / "s.db", task, debounce=0.0)
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
