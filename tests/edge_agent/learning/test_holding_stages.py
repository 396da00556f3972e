"""A report that is held: in two stages, with disks that fail, with a deadline."""

from __future__ import annotations

from edge_agent.agent import Phase
from edge_agent.consent.policy import Policy
from edge_agent.errors import StorageError
from edge_agent.learning.holding import HELD, PASSED
from edge_agent.state.rows import HOLD
from edge_agent.watch.threshold import Threshold
from tests.edge_agent.learning.held import OF, SEED, TWO, N, stages, wrong
from tests.edge_agent.world import active, data, receipt, records, reports, simulated
from tests.fsir.tasks import screened, task

# --- two stages -----------------------------------------------------------------------------------


def test_two_reports_about_the_same_records_are_judged_once():
    agent = simulated(TWO, seed=SEED)
    agent.learn_many(*data(TWO, N))
    sent = agent.outgoing(1.0)
    agent.receive(*receipt(TWO, sent))
    agent.receive(*active(TWO, "x0", "x1"))
    assert reports(agent.outgoing(2.0))
    assert stages(agent) == [(HOLD, PASSED), ("screening", "counted"), ("final", "")]


def test_rows_that_are_kept_are_looked_at_too():
    two = task(6, screening=screened(6).table()["screening"], report={"records": N})
    agent = simulated(two, seed=SEED)
    for record in records(two, N):
        far = {name: value * 1e6 for name, value in record.x.items() if name != "y"}
        agent.learn(type(record)(record.position, record.x | far))
    assert reports(agent.outgoing(1.0)) == []
    assert agent.held
    agent.release()
    assert reports(agent.outgoing(2.0))[0].stage == "screening"
    agent.receive(*active(two, "x0", "x1"))
    assert reports(agent.outgoing(3.0))[-1].stage == "final", "its owner has looked at them"


def test_reports_about_fresh_records_are_judged_one_by_one():
    fresh = screened(6, records="fresh").table()["screening"]
    two = task(6, screening=fresh, report={"records": N})
    agent = simulated(two, seed=SEED)
    agent.learn_many(*data(two, N))
    agent.receive(*receipt(two, agent.outgoing(1.0)))
    agent.receive(*active(two, "x0", "x1"))
    agent.learn_many(*wrong(two))
    assert reports(agent.outgoing(2.0)) == []
    assert stages(agent) == [(HOLD, PASSED), ("screening", "counted"), (HOLD, HELD)]
    assert agent.phase is Phase.HELD


# --- disks and clocks -----------------------------------------------------------------------------


def test_a_disk_that_takes_nothing_changes_no_decision(monkeypatch):
    """Neither is it drawn again, nor is the report sent before the hold is written."""
    agent = simulated(OF, seed=SEED)
    agent.learn_many(*wrong())
    draws = []
    decide = Threshold.holds

    def counted(self, margin, noise):
        draws.append(margin)
        return decide(self, margin, noise)

    monkeypatch.setattr(Threshold, "holds", counted)
    book = agent.state.record_hold

    def full(*_):
        raise StorageError("the disk is full")

    monkeypatch.setattr(agent.state, "record_hold", full)
    assert reports(agent.outgoing(1.0)) == []
    assert reports(agent.outgoing(100.0)) == []
    monkeypatch.setattr(agent.state, "record_hold", book)
    assert reports(agent.outgoing(200.0)) == []
    assert agent.held
    assert len(draws) == 1


def test_a_disk_that_denies_what_it_has_written_is_read_again(monkeypatch):
    agent = simulated(OF, seed=SEED)
    agent.learn_many(*wrong())
    book = agent.state.record_hold

    def denied(*arguments):
        book(*arguments)
        raise StorageError("the disk says no")

    monkeypatch.setattr(agent.state, "record_hold", denied)
    agent.outgoing(1.0)
    monkeypatch.setattr(agent.state, "record_hold", book)
    assert reports(agent.outgoing(100.0)) == []
    assert agent.held
    assert stages(agent) == [(HOLD, HELD)]


def test_with_a_deadline_the_report_waits_as_well():
    dated = task(4, report={"records": 5000, "deadline": 2_000_000_000, "sigma_0": 5.0})
    now = [1.9e9]
    policy = Policy(exact_count=True)
    agent = simulated(dated, seed=SEED, policy=policy, clock=lambda: now[0])
    agent.learn_many(*wrong(dated, N))
    now[0] = 2.1e9
    assert reports(agent.outgoing(1.0)) == []
    assert agent.held
    agent.release()
    assert reports(agent.outgoing(2.0))[0].n == N
