"""Stages and deadlines of one device in one task, and crashes between any two steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from edge_agent.agent import Feed, Phase
from edge_agent.consent.policy import Policy
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.limits import LIMITS
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import final_stage, first_stage
from fsir.privacy.release import release
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.world import (
    DEVICE,
    WILLING,
    active,
    data,
    one_hot,
    records,
    reports,
    simulated,
)
from tests.fsir.tasks import screened, task


@pytest.mark.parametrize(
    "rule", [{"records": "same"}, {"records": "fresh"}, {"records": "same", "code": "simplex"}]
)
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
    assert tuple(len(block) for block in reports(second)[0].blocks) == stage.sizes
    intervals = [(row.first, row.last) for row in agent.state.ledger()]
    assert intervals == [(0, 99), (100, 199) if rule["records"] == "fresh" else (0, 99)]
    assert agent.state.kept_count("test") == 0


@pytest.mark.parametrize("rule", ["same", "fresh"])
def test_the_ledger_names_the_stream_that_the_records_came_in(tmp_path, rule):
    """A pipe is another stream in each run, and a second report may be about an earlier one."""
    two = screened(records=rule)
    X, y = data(two, 100)
    for run in (1, 2):
        state = State(tmp_path, DEVICE, simulated=True)
        pipe = Feed("jsonl:-", replayable=False, stream=f"jsonl:-#{run}")
        agent = simulated(two, state=state, feed=pipe)
        if run == 2:
            agent.receive(*active(two, "x1", "x4"))
        agent.learn_many(X, y)
        agent.outgoing(1.0)
        agent.checkpoint(leaving=True)
        ledger = [(row.stage, row.source) for row in state.ledger()]
        state.close()
    second = "jsonl:-#1" if rule == "same" else "jsonl:-#2"
    assert ledger == [("screening", "jsonl:-#1"), ("final", second)]


def test_kept_rows_give_the_moments_of_both_stages_bit_for_bit():
    two = screened(p=8, records="same")
    agent = simulated(two, noise=SeededNoise(5, "same"))
    X, y = data(two, 100)
    for record in records(two, 60):
        agent.learn(record)
    agent.checkpoint()
    agent.learn_many(X[60:], y[60:])
    made = reports(agent.outgoing(1.0))
    agent.receive(*active(two, "x2", "x3", "x7"))
    made += reports(agent.outgoing(1.1))
    for report, stage in zip(made, (first_stage(two), final_stage(two, (2, 3, 7))), strict=True):
        moments = Moments(two, stage)
        moments.learn_many(X[:, list(stage.features)], y)
        expected = release(moments, SeededNoise(5, "same").for_stage(stage.name))
        assert all(
            np.array_equal(a, b) for a, b in zip(report.blocks, expected.blocks, strict=True)
        )


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


@pytest.mark.parametrize("rule", [None, "same", "fresh"])
@pytest.mark.parametrize("seed", range(3))
def test_crashes_at_any_moment_never_count_a_record_twice_nor_make_a_second_report(
    tmp_path, rule, seed
):
    """A new agent over the same file takes over at random; what was not committed is gone."""
    screening = (
        {} if rule is None else {"screening": {"records": rule, "final_norm": 2.0, "keep": 2}}
    )
    hot = task(
        40,
        privacy={"mechanism": "none"},
        clip={"truncate": 1.0, "norm": 1.0},
        report={"records": 12},
        **screening,
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
        report = decode(payload, Report)
        counted = report.blocks[0] * first_stage(hot).grid
        assert report.n == 12
        assert set(np.unique(counted)) <= {0.0, 1.0}, stage
        assert counted.sum() == 12 or stage == "final"
    state.close()


def test_a_report_that_no_aggregator_would_read_is_booked_and_not_sent(monkeypatch):
    """Its length depends on its noisy numbers: that it did not come tells something about them."""
    monkeypatch.setitem(LIMITS, "report", 50)
    plain = task()
    agent = simulated(plain)
    agent.learn_many(*data(plain, 100))
    assert agent.outgoing(1.0) == []
    assert agent.phase is Phase.STOPPED
    assert "read at most 50" in agent.reason
    (row,) = agent.state.ledger()
    assert (row.verdict, row.mu) == ("refused", first_stage(plain).mu)
    assert not agent.state.outbox()


def test_deadline_reports_with_all_records_and_not_before():
    now = [1000.0]
    dated = task(report={"records": 5000, "deadline": 2000})
    agent = simulated(dated, policy=Policy(exact_count=True), clock=lambda: now[0])
    agent.learn_many(*data(dated, 70))
    assert agent.outgoing(1.0) == []
    assert agent.next_due(1.0) == pytest.approx(1001.0)
    now[0] = 2000.0
    assert not agent.wants_records
    assert reports(agent.outgoing(1001.0))[0].n == 70


def test_deadline_with_too_few_records_sends_nothing():
    now = [1000.0]
    dated = task(report={"records": 5000, "deadline": 2000, "sigma_0": 0.1})
    agent = simulated(dated, policy=Policy(exact_count=True), clock=lambda: now[0])
    agent.learn_many(*data(dated, 20))
    now[0] = 3000.0
    assert agent.outgoing(1.0) == []
    assert not agent.wants_records
    assert not agent.state.ledger()
