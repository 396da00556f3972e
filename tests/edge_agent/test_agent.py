"""The state machine of one device in one task."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.agent import Agent, Phase
from edge_agent.consent.policy import Policy
from edge_agent.exchange.gate import UNHEARD_SECONDS
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.wire.messages import topic
from tests.edge_agent.world import (
    DEVICE,
    WILLING,
    data,
    receipt,
    records,
    reports,
    simulated,
    subspace,
)
from tests.fsir.tasks import screened, task

CLASSIFIER_FREE = ("x0", "x1", "x2")


def test_one_stage_from_task_to_serving():
    plain = task()
    agent = simulated(plain)
    X, y = data(plain, 120)
    assert agent.phase is Phase.LEARNING
    assert agent.learn_many(X, y) == 100
    assert not agent.wants_records
    sent = agent.outgoing(1.0)
    assert [(r.stage, r.n, r.device, r.task) for r in reports(sent)] == [
        ("final", 100, DEVICE, plain.digest)
    ]
    assert agent.phase is Phase.REPORTED
    agent.receive(*receipt(plain, sent))
    assert agent.phase is Phase.SERVING
    assert agent.pending == 0
    agent.receive(*subspace(plain, CLASSIFIER_FREE))
    served = agent.serve(Record(Position(7), {"x0": 0.5, "x1": 1.0, "x2": 0.0}))
    assert served == {"record": 7, "task": "test", "version": 1, "z": [0.5]}


def test_a_report_is_the_release_of_exactly_the_records_learned():
    plain = task()
    agent = simulated(plain, noise=SeededNoise(5, "same"))
    X, y = data(plain, 100)
    agent.learn_many(X, y)
    (report,) = reports(agent.outgoing(1.0))
    moments = Moments(plain, first_stage(plain))
    moments.learn_many(X, y)
    expected = release(moments, SeededNoise(5, "same").for_stage("final"))
    assert all(np.array_equal(a, b) for a, b in zip(report.blocks, expected.blocks, strict=True))


def test_every_retry_repeats_the_bytes_after_growing_jittered_delays():
    plain = task()
    agent = simulated(plain, delays=Delays(first=5.0, longest=600.0))
    agent.learn_many(*data(plain, 100))
    times = []
    payloads = set()
    for now in np.arange(0.0, 4000.0, 0.25):
        for message in agent.outgoing(float(now)):
            times.append(float(now))
            payloads.add(message.payload)
    gaps = np.diff(times)
    assert len(payloads) == 1
    assert 8 < len(times) < 30
    for k, gap in enumerate(gaps):
        expected = min(600.0, 5.0 * 2**k)
        assert 0.5 * expected <= gap <= 1.5 * expected + 0.5
    assert agent.next_due(4000.0) is not None


def test_nothing_is_sent_while_disconnected_or_before_old_receipts_can_arrive():
    """Those are before the task among what the broker has kept, however long that takes."""
    plain = task(version=1)
    agent = simulated(plain, quiet_seconds=0.5)
    agent.learn_many(*data(plain, 100))
    assert agent.outgoing(0.0) == agent.outgoing(0.4) == []
    agent.disconnected()
    assert agent.outgoing(100.0) == []
    assert agent.phase is Phase.REPORTED  # the report is made and waits in the outbox
    agent.connected(200.0)
    assert agent.outgoing(230.0) == []
    agent.receive(topic("test", "task"), plain.encode())
    assert agent.outgoing(230.0) == agent.outgoing(230.4) == []
    assert agent.next_due(230.4) == 230.5
    assert len(agent.outgoing(230.5)) == 1


def test_a_task_that_comes_before_the_subscription_is_confirmed_is_heard():
    plain = task(version=1)
    agent = simulated(plain, quiet_seconds=0.5)
    agent.disconnected()
    agent.learn_many(*data(plain, 100))
    agent.receive(topic("test", "task"), plain.encode())
    assert agent.outgoing(10.0) == []
    agent.connected(10.0)
    assert agent.outgoing(10.0) == []
    assert len(agent.outgoing(10.5)) == 1


def test_a_broker_that_has_lost_the_task_holds_a_report_for_a_while_only():
    plain = task(version=1)
    agent = simulated(plain)
    agent.disconnected()
    agent.learn_many(*data(plain, 100))
    agent.connected(10.0)
    assert agent.outgoing(10.0 + UNHEARD_SECONDS - 1.0) == []
    assert agent.next_due(11.0) == 10.0 + UNHEARD_SECONDS
    assert len(agent.outgoing(10.0 + UNHEARD_SECONDS)) == 1


def test_the_report_waits_for_a_random_delay():
    late = task(report={"max_delay": 100.0})
    holds = []
    for seed in range(30):
        agent = simulated(late, seed=seed)
        agent.learn_many(*data(late, 100))
        agent.outgoing(0.0)
        holds.append(
            next(float(now) for now in np.arange(0.0, 101.0, 0.5) if agent.outgoing(float(now)))
        )
    assert min(holds) < 35.0 < 65.0 < max(holds)


def test_nothing_leaves_before_the_report_size():
    two = screened()
    agent = simulated(two)
    for record in records(two, 99):
        agent.learn(record)
        assert agent.outgoing(record.position.ordinal + 1.0) == []
    agent.learn(records(two, 1, start=99)[0])
    assert len(agent.outgoing(200.0)) == 1


def test_a_refused_report_is_not_sent_again_and_stays_in_the_ledger():
    plain = task()
    agent = simulated(plain)
    agent.learn_many(*data(plain, 100))
    agent.receive(*receipt(plain, agent.outgoing(1.0), "refused", "too late"))
    assert agent.outgoing(1e6) == []
    (row,) = agent.state.ledger()
    assert (row.verdict, row.reason) == ("refused", "too late")


def test_a_receipt_for_other_bytes_does_not_clear_the_outbox():
    plain = task()
    agent = simulated(plain, seed=1)
    other = simulated(plain, seed=2)
    for each in (agent, other):
        each.learn_many(*data(plain, 100))
    agent.outgoing(1.0)
    agent.receive(*receipt(plain, other.outgoing(1.0), "refused", "a stranger's"))
    assert agent.pending == 1
    assert agent.phase is Phase.REPORTED


@pytest.mark.parametrize("status", ["counted", "duplicate", "refused"])
def test_an_empty_state_whose_receipt_exists_is_refused(status, caplog):
    plain = task()
    old = simulated(plain, seed=1)
    old.learn_many(*data(plain, 100))
    answer = receipt(plain, old.outgoing(1.0), status)
    agent = Agent(State(None, DEVICE, simulated=True), "test", simulated=True, quiet_seconds=0.0)
    agent.receive(*answer)  # the retained receipt may arrive before the task
    agent.connected(0.0)
    agent.receive(topic("test", "task"), plain.encode())
    agent.learn_many(*data(plain, 100))
    assert agent.phase is Phase.STOPPED
    assert agent.outgoing(1e6) == []
    assert "did not make" in agent.reason
    assert not agent.state.ledger()


def test_a_state_from_before_an_edition_that_has_its_receipt_is_refused():
    """The broker keeps one receipt under the name: that of the later edition, in place of ours."""
    first = task()
    second = task(epoch=2)
    original = simulated(first)
    original.learn_many(*data(first, 100))
    sent = original.outgoing(1.0)
    original.receive(*receipt(first, sent))
    original.state.forget("test", unpin=True)
    again = simulated(second, state=original.state, policy=WILLING)
    again.receive(*receipt(first, sent))  # history, which the ledger knows
    assert again.phase is Phase.LEARNING
    again.learn_many(*data(second, 100))
    later = receipt(second, again.outgoing(1.0))
    again.receive(*later)
    assert again.phase is Phase.SERVING
    restored = simulated(first, seed=2)
    restored.learn_many(*data(first, 100))
    restored.receive(*later)
    assert restored.phase is Phase.STOPPED
    assert "did not make" in restored.reason
    assert restored.outgoing(1e6) == []


def test_a_report_made_offline_is_not_sent_when_another_was_counted_meanwhile():
    plain = task()
    old = simulated(plain, seed=1)
    agent = simulated(plain, seed=2)
    agent.disconnected()
    for each in (old, agent):
        each.learn_many(*data(plain, 100))
    agent.outgoing(1.0)
    assert agent.pending == 1
    agent.connected(2.0)
    agent.receive(*receipt(plain, old.outgoing(1.0)))
    assert agent.outgoing(1e6) == []
    assert agent.phase is Phase.STOPPED


def test_an_agent_with_nothing_to_do_asks_for_no_attention():
    """Whatever stops an agent must also stop its clock: a device that spins empties its battery."""
    plain = task()
    agent = simulated(plain)
    assert agent.outgoing(5.0) == []  # the ask has its answer
    assert agent.next_due(5.0) is None
    agent.learn_many(*data(plain, 100))
    strict = Agent(agent.state, "test", Policy(epsilon=0.1), simulated=True)
    strict.connected(0.0)
    agent.checkpoint()
    assert strict.next_due(5.0) is None
    agent.receive(*receipt(plain, agent.outgoing(5.0)))
    assert agent.next_due(1e6) is None
    refusing = Agent(agent.state, "test", Policy(epsilon=0.1), simulated=True)
    refusing.connected(0.0)
    assert refusing.next_due(1e6) is None
