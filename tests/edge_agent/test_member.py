"""A program's own loop: what it offers before the task has come is learned once, and in order."""

from __future__ import annotations

import msgpack
import numpy as np
import pytest

from edge_agent import member as members
from edge_agent.consent.policy import Policy
from edge_agent.member import MOST_WAITING, Member
from edge_agent.state.state import State
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.wire.messages import topic
from tests.edge_agent.learning.exact import tapped
from tests.fsir.tasks import task

TASK = task(report={"records": 300})
NOWHERE = "mqtt://127.0.0.1:9"


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, TASK.p))
    return X, rng.choice(["a", "b", "c", "not a class"], 400).tolist()


def joined(path, **options) -> Member:
    return Member(NOWHERE, TASK.name, "dev-1", path, **options)


def offer(member: Member, X, y, numbers=None) -> None:
    """Offer records as a careless program does: in one mapping that is used again and again."""
    x: dict[str, float] = {}
    for k, (row, label) in enumerate(zip(X.tolist(), y, strict=True)):
        x.update(zip(TASK.features.names, row, strict=True))
        member.learn(x, label, None if numbers is None else numbers[k])


def tell(member: Member, of=TASK) -> None:
    """The task arrives."""
    member.agent.receive(topic(of.name, "task"), of.encode())


def learned(member: Member) -> object:
    member.agent.checkpoint()
    kept = msgpack.unpackb(member.agent.state.progress(TASK.name).learned)
    del kept["watch"]  # what the records look like, for their owner
    return kept


def state_of(X, y) -> object:
    """What the accumulators have after these records, and no others."""
    moments = Moments(TASK, first_stage(TASK))
    moments.learn_many(X, y)
    return moments.state()


@pytest.mark.parametrize("before", [0, 1, 60, 100])
def test_records_that_came_before_the_task_are_learned_when_it_comes(tmp_path, rows, before):
    X, y = rows[0][:100], rows[1][:100]
    with joined(tmp_path) as member:
        offer(member, X[:before], y[:before])
        assert (member.waiting, member.agent.n) == (before, 0)
        tell(member)
        offer(member, X[before:], y[before:])
        member.step()
        assert (member.waiting, member.agent.n) == (0, 100)
        assert member.agent.position.ordinal == 99
        assert learned(member) == state_of(X, y)


def test_the_task_alone_is_enough(tmp_path, rows):
    """Nothing else needs to be offered: the next step learns."""
    with joined(tmp_path) as member:
        offer(member, rows[0][:20], rows[1][:20])
        tell(member)
        member.step()
        assert member.agent.n == 20


def test_a_report_is_about_the_first_records_and_all_of_them_are_used_up(
    tmp_path, rows, monkeypatch
):
    """400 records before a task that asks for 300: one report, about the first 300."""
    X, y = rows
    with tapped(monkeypatch) as seen, joined(tmp_path) as member:
        offer(member, X, y)
        tell(member)
        member.step()
        (row,) = (row for row in member.agent.state.ledger() if row.is_report)
        assert (row.n, row.first, row.last) == (300, 0, 299)
    with tapped(monkeypatch) as again, joined(tmp_path / "other") as other:
        tell(other)
        offer(other, X[:300], y[:300])
        assert len([row for row in other.agent.state.ledger() if row.is_report]) == 1
    assert np.array_equal(seen[0][1], again[0][1])


def test_at_most_so_many_wait_and_the_newest_are_kept(tmp_path, rows, monkeypatch, caplog):
    monkeypatch.setattr(members, "MOST_WAITING", 50)
    X, y = rows
    with joined(tmp_path) as member:
        offer(member, X[:80], y[:80])
        assert member.waiting == 50
        tell(member)
        member.step()
        assert learned(member) == state_of(X[30:80], y[30:80])
        assert member.agent.state.progress(TASK.name).first == 30
    told = [record.getMessage() for record in caplog.records if "not be learned" in record.msg]
    assert len(told) == 5  # at 1, 2, 4, 8 and 16
    assert "at most 50 records wait for it: 16 older ones" in told[-1]
    assert MOST_WAITING == 2000


def test_a_refused_task_gets_nothing(tmp_path, rows, caplog):
    X, y = rows
    with joined(tmp_path, policy=Policy(epsilon=0.5)) as member:
        offer(member, X[:40], y[:40])
        tell(member)
        offer(member, X[40:60], y[40:60])
        assert (member.waiting, member.agent.n) == (0, 0)
        assert member.agent.reason
        assert not member.agent.state.ledger()
    assert caplog.text.count("40 records that waited for the task are not learned: ") == 1


def test_what_waits_at_the_end_is_told_and_nowhere_kept(tmp_path, rows, caplog):
    with joined(tmp_path) as member:
        offer(member, rows[0][:7], rows[1][:7])
    assert "7 records that waited for the task are not learned: it did not come" in caplog.text
    state = State(tmp_path, None, read_only=True)
    assert state.pins() == []
    assert state.last_position("program").ordinal == -1
    state.close()


def test_numbered_records_may_be_offered_again_and_count_once(tmp_path, rows):
    """Ten waited in vain; of the next run's thirty the first ten are the same ones."""
    X, y = rows
    with joined(tmp_path, stream="belt") as member:
        offer(member, X[:10], y[:10], range(10))
    with joined(tmp_path, stream="belt") as member:
        offer(member, X[:30], y[:30], range(30))
        tell(member)
        member.step()
        assert member.agent.n == 30
    with joined(tmp_path, stream="belt") as member:  # the task is known from the start
        offer(member, X[20:50], y[20:50], range(20, 50))
        assert member.waiting == 0
        assert learned(member) == state_of(X[:50], y[:50])


def test_numbers_that_do_not_rise_are_passed_by(tmp_path, rows):
    X, y = rows
    with joined(tmp_path, stream="belt") as member:
        offer(member, X[:10], y[:10], range(10))
        offer(member, X[5:15], y[5:15], range(5, 15))
        tell(member)
        member.step()
        assert learned(member) == state_of(X[:15], y[:15])


def test_without_numbers_an_unfinished_run_is_dropped_as_before(tmp_path, rows, caplog):
    X, y = rows
    for n in (20, 30):
        with joined(tmp_path) as member:
            offer(member, X[:n], y[:n])
            tell(member)
            member.step()
            assert member.agent.n == n
    assert "what was learned and not reported is dropped" in caplog.text
