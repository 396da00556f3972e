"""The state machine of one device in one task."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from edge_agent.agent import Agent, Phase
from edge_agent.errors import StateError
from edge_agent.policy import Policy
from edge_agent.retry import Delays
from edge_agent.sources.base import Position, Record
from edge_agent.state import State
from fsir.messages import topic
from fsir.moments import Moments
from fsir.noise import SeededNoise, SystemNoise
from fsir.plan import final_stage, first_stage
from fsir.release import release
from tests.edge_agent.world import (
    DEVICE,
    WILLING,
    active,
    data,
    one_hot,
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
    assert [(r.stage, r.n, r.device, r.task) for r in reports(sent)] == [("final", 100, DEVICE, plain.digest)]
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


@pytest.mark.parametrize("rule", [{"records": "same"}, {"records": "fresh"}, {"records": "same", "code": "simplex"}])
def test_two_stages(rule):
    two = screened(**rule)
    agent = simulated(two)
    X, y = data(two, 250)
    used = agent.learn_many(X, y)
    assert used == 100
    first = agent.outgoing(1.0)
    assert agent.phase is Phase.SCREENED
    agent.receive(*active(two, "x1", "x4"))
    more = agent.learn_many(X[used:], y[used:])
    assert more == (100 if rule["records"] == "fresh" else 0)
    second = agent.outgoing(2.0)
    assert [r.stage for r in reports(first + second)] == ["screening", "final"]
    stage = final_stage(two, (1, 4))
    assert [len(block) for block in reports(second)[0].blocks] == [block.size for block in stage.blocks]
    intervals = [(row.first, row.last) for row in agent.state.ledger()]
    assert intervals == [(0, 99), (100, 199) if rule["records"] == "fresh" else (0, 99)]
    assert agent.state.kept_count("test") == 0


def test_kept_rows_give_the_moments_of_both_stages_bit_for_bit():
    two = screened(p=8, records="same")
    agent = simulated(two, noise=SeededNoise(5, "same"))
    X, y = data(two, 100)
    for record in records(two, 60):
        agent.learn(record)
    agent.checkpoint()
    agent.learn_many(X[60:], y[60:])
    found = reports(agent.outgoing(1.0))
    agent.receive(*active(two, "x2", "x3", "x7"))
    found += reports(agent.outgoing(1.1))
    for report, stage in zip(found, (first_stage(two), final_stage(two, (2, 3, 7))), strict=True):
        moments = Moments(two, stage)
        moments.learn_many(X[:, list(stage.features)], y)
        expected = release(moments, SeededNoise(5, "same").for_stage(stage.name))
        assert all(np.array_equal(a, b) for a, b in zip(report.blocks, expected.blocks, strict=True))


def test_votes_are_computed_from_the_noisy_sums():
    voting = screened(method="votes", select="majority", threshold=0.2)
    agent = simulated(voting)
    X, y = data(voting, 100)
    X[:, 2] += 5.0 * (np.array(y) == "a")
    agent.learn_many(X, y)
    (report,) = reports(agent.outgoing(1.0))
    assert report.votes is not None
    assert report.votes.shape == (6, 3)
    assert not report.blocks


def test_a_device_that_finds_the_active_set_skips_the_first_report():
    for rule, before in itertools.product(("same", "fresh"), (0, 40)):
        two = screened(records=rule)
        agent = simulated(two)
        X, y = data(two, 200)
        agent.learn_many(X[:before], y[:before])
        agent.receive(*active(two, "x1", "x4"))
        agent.learn_many(X[before:], y[before:])
        assert [r.stage for r in reports(agent.outgoing(1.0))] == ["final"]
        (row,) = agent.state.ledger()
        assert (row.first, row.last) == ((0, 99) if rule == "same" else (before, before + 99))
        assert row.mu == pytest.approx(final_stage(two, (1, 4)).mu)


def test_the_first_active_set_stays(caplog):
    two = screened()
    agent = simulated(two)
    X, y = data(two, 100)
    agent.learn_many(X[:50], y[:50])
    agent.receive(*active(two, "x1", "x4"))
    agent.receive(*active(two, "x0", "x5"))
    assert agent.active == ("x1", "x4")
    assert "the first one stays" in caplog.text
    again = simulated(two, state=agent.state)
    again.receive(*active(two, "x0", "x5"))
    assert again.active == ("x1", "x4")


def test_every_retry_repeats_the_bytes_after_growing_jittered_delays():
    plain = task()
    agent = simulated(plain, delays=Delays(first=5.0, longest=600.0))
    agent.learn_many(*data(plain, 100))
    times, payloads = [], set()
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
    plain = task()
    agent = simulated(plain, settle=0.5)
    agent.learn_many(*data(plain, 100))
    assert agent.outgoing(0.4) == []
    agent.disconnected()
    assert agent.outgoing(100.0) == []
    assert agent.phase is Phase.REPORTED  # the report is made and waits in the outbox
    agent.connected(200.0)
    assert len(agent.outgoing(200.6)) == 1


def test_the_report_waits_for_a_random_delay():
    late = task(report={"max_delay": 100.0})
    holds = []
    for seed in range(30):
        agent = simulated(late, seed=seed)
        agent.learn_many(*data(late, 100))
        agent.outgoing(0.0)
        holds.append(next(float(now) for now in np.arange(0.0, 101.0, 0.5) if agent.outgoing(float(now))))
    assert min(holds) < 35.0 < 65.0 < max(holds)


def test_nothing_leaves_before_the_report_size():
    two = screened()
    agent = simulated(two)
    for record in records(two, 99):
        agent.learn(record)
        assert agent.outgoing(record.position.ordinal + 1.0) == []
    agent.learn(records(two, 1, start=99)[0])
    assert len(agent.outgoing(200.0)) == 1


def test_refused_records_do_not_count():
    plain = task()
    agent = simulated(plain)
    X, y = data(plain, 150)
    X[3, 0], y[5] = np.nan, "unheard of"
    assert agent.learn_many(X, y) == 102
    assert dict(agent.refused) == {"unknown response": 1, "not finite": 1}
    assert reports(agent.outgoing(1.0))[0].n == 100


def test_columns_that_the_task_does_not_know_are_ignored_and_missing_ones_refused():
    plain = task()
    agent = simulated(plain)
    agent.learn(Record(Position(0), {"x0": "1", "x1": 2.0, "x2": "0.5", "y": "a", "battery": "full"}))
    assert agent.n == 1
    agent.learn(Record(Position(1), {"x0": 1.0, "x2": 2.0, "y": "a"}))
    agent.learn(Record(Position(2), {}))
    assert agent.n == 1
    assert sum(agent.refused.values()) == 2


def test_a_record_that_was_seen_is_not_learned_again():
    plain = task()
    agent = simulated(plain)
    for record in records(plain, 10) + records(plain, 10):
        agent.learn(record)
    assert agent.n == 10
    with pytest.raises(StateError, match="seen before"):
        agent.learn_many(*data(plain, 5), first=3)


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
    agent, other = simulated(plain, seed=1), simulated(plain, seed=2)
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
    agent = Agent(State(None, DEVICE, simulated=True), "test", simulated=True, settle=0.0)
    agent.receive(*answer)  # the retained receipt may arrive before the task
    agent.connected(0.0)
    agent.receive(topic("test", "task"), plain.encode())
    agent.learn_many(*data(plain, 100))
    assert agent.phase is Phase.STOPPED
    assert agent.outgoing(1e6) == []
    assert "did not make" in agent.reason
    assert not agent.state.ledger()


def test_a_report_made_offline_is_not_sent_when_another_was_counted_meanwhile():
    plain = task()
    old, agent = simulated(plain, seed=1), simulated(plain, seed=2)
    agent.disconnected()
    for each in (old, agent):
        each.learn_many(*data(plain, 100))
    agent.outgoing(1.0)
    assert agent.pending == 1
    agent.connected(2.0)
    agent.receive(*receipt(plain, old.outgoing(1.0)))
    assert agent.outgoing(1e6) == []
    assert agent.phase is Phase.STOPPED


def test_deadline_reports_with_all_records_and_not_before():
    now = [1000.0]
    dated = task(report={"records": None, "deadline": 2000})
    agent = simulated(dated, clock=lambda: now[0])
    agent.learn_many(*data(dated, 70))
    assert agent.outgoing(1.0) == []
    assert agent.next_due(1.0) == pytest.approx(1001.0)
    now[0] = 2000.0
    assert not agent.wants_records
    assert reports(agent.outgoing(1001.0))[0].n == 70


def test_deadline_with_too_few_records_sends_nothing():
    now = [1000.0]
    dated = task(report={"records": None, "deadline": 2000, "sigma_0": 0.1})
    agent = simulated(dated, clock=lambda: now[0])
    agent.learn_many(*data(dated, 20))
    now[0] = 3000.0
    assert agent.outgoing(1.0) == []
    assert not agent.wants_records
    assert not agent.state.ledger()


def test_presence_needs_owner_and_task():
    for owner, asked in itertools.product((False, True), (False, True)):
        present = task(report={"presence": asked})
        agent = simulated(present, policy=Policy(presence=owner))
        topics = [message.topic for message in agent.outgoing(0.0)]
        assert topics == ([topic("test", "presence", DEVICE)] if owner and asked else [])


def test_a_generator_that_can_be_predicted_is_refused():
    for state, options in (
        (State(None, DEVICE), {"noise": SeededNoise(1)}),
        (State(None, DEVICE, simulated=True), {"noise": SystemNoise()}),
        (State(None, DEVICE), {"simulated": True}),
    ):
        with pytest.raises(StateError):
            Agent(state, "test", **options)


def test_names_that_are_not_one_level_of_a_topic_are_refused():
    for device, name in (("a/b", "test"), ("dev", "te+st"), ("#", "test"), ("dev", "")):
        with pytest.raises(StateError):
            Agent(State(None, device), name)


@pytest.mark.parametrize("rule", [None, "same", "fresh"])
@pytest.mark.parametrize("seed", range(3))
def test_crashes_at_any_moment_never_count_a_record_twice_nor_make_a_second_report(tmp_path, rule, seed):
    """A new agent over the same file takes over at random; what was not committed is gone."""
    screening = {} if rule is None else {"screening": {"records": rule, "final_norm": 2.0, "keep": 2}}
    hot = task(
        40, privacy={"mechanism": "none"}, clip={"truncate": 1.0, "norm": 1.0}, report={"records": 12}, **screening
    )
    rng = np.random.default_rng(seed)
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(hot, state=state, policy=WILLING)
    sent: dict[str, set[bytes]] = {}
    for _ in range(300):
        action = rng.integers(0, 6)
        if action == 0:
            state.close()
            state = State(tmp_path, DEVICE, simulated=True)
            agent = simulated(hot, state=state, policy=WILLING)
        elif action == 1:
            agent.checkpoint()
        elif action == 2:
            for report in agent.outgoing(float(rng.integers(0, 10**6))):
                sent.setdefault(reports([report])[0].stage, set()).add(report.payload)
        elif action == 3 and "screening" in sent and rng.random() < 0.3:
            agent.receive(*active(hot, *hot.features.names[:30]))
        else:
            j = agent.position.ordinal + 1
            if j < 40:
                agent.learn(Record(Position(j), one_hot(hot, j)))
    assert all(len(payloads) == 1 for payloads in sent.values())
    assert {row.stage for row in state.ledger()} >= set(sent)
    for stage, (payload,) in sent.items():
        (report,) = reports([type("M", (), {"payload": payload, "topic": "/report/"})])
        counted = report.blocks[0] * first_stage(hot).grid
        assert report.n == 12
        assert set(np.unique(counted)) <= {0.0, 1.0}, stage
        assert counted.sum() == 12 or stage == "final"
    state.close()


def test_a_subspace_is_remembered_without_a_broker():
    plain = task()
    agent = simulated(plain)
    agent.receive(*subspace(plain, CLASSIFIER_FREE))
    offline = Agent(agent.state, "test", simulated=True)
    assert offline.serve(Record(Position(0), {"x0": 1.0, "x1": 0.0, "x2": 0.0}))["z"] == [1.0]
    assert offline.serve(Record(Position(0), {"x0": 1.0})) is None
    assert offline.serve(Record(Position(0), {"x0": 1.0, "x1": "?", "x2": float("nan")})) is None
