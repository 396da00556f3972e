"""A report about records that are plainly wrong waits for its owner; the decision is booked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from edge_agent.account.tasks import task_entries
from edge_agent.agent import Feed, Phase
from edge_agent.consent.policy import Policy
from edge_agent.errors import StateError
from edge_agent.learning.holding import HELD, PASSED
from edge_agent.state.rows import HOLD
from edge_agent.state.state import State
from edge_agent.watch.threshold import SHARE, Threshold
from fsir.privacy.accounting import epsilon_of, mu_of
from fsir.privacy.plan import first_stage
from fsir.wire.messages import Receipt, encode, topic
from tests.edge_agent.learning.held import OF, SEED, TWO, WITHDRAWN, N, held, stages, wrong
from tests.edge_agent.world import DEVICE, data, reports, simulated
from tests.fsir.tasks import task


def test_a_report_about_ordinary_records_leaves_and_the_decision_is_booked_with_it():
    agent = simulated(OF, seed=SEED)
    agent.learn_many(*data(OF, N))
    (report,) = reports(agent.outgoing(1.0))
    assert report.n == N
    judged, made = agent.state.ledger()
    assert (judged.stage, judged.verdict, made.stage) == (HOLD, PASSED, "final")
    assert (judged.first, judged.last, judged.n, judged.numbers) == (0, N - 1, N, 1)
    assert judged.mu == Threshold(OF).mu == SHARE * mu_of(1.0, 1e-6)
    assert made.mu == first_stage(OF).mu, "the report costs what it did"
    together = epsilon_of(math.hypot(judged.mu, made.mu), 1e-6)
    assert together == pytest.approx(1.033, abs=0.002)


def test_one_about_wrong_records_is_held_and_says_why(caplog):
    agent = held()
    assert agent.phase is Phase.HELD
    assert agent.held.startswith("x0, x1, x2, x3: far outside of what the task expects")
    assert stages(agent) == [(HOLD, HELD)]
    assert not agent.state.outbox()
    assert not agent.wants_records
    assert "test: its report is HELD, and nothing is sent: x0, x1" in caplog.text
    assert "fsir-agent release test --state memory" in caplog.text
    assert "fsir-agent forget --task test --state memory" in caplog.text


def test_it_stays_held_over_restarts_until_it_is_released(tmp_path):
    state = State(tmp_path, DEVICE, simulated=True)
    held(state=state)
    state.close()  # as if killed: what is held is written with it
    for _ in range(3):
        state = State(tmp_path, DEVICE, simulated=True)
        agent = simulated(OF, state=state, seed=SEED + 1)
        assert agent.phase is Phase.HELD
        assert agent.outgoing(1e6) == []
        assert stages(agent) == [(HOLD, HELD)], "it is decided once"
        agent.checkpoint(leaving=True)
        state.close()
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(OF, state=state)
    agent.release()
    assert reports(agent.outgoing(1.0))[0].n == N
    assert agent.phase is Phase.REPORTED
    assert agent.held == ""
    assert stages(agent) == [(HOLD, HELD), ("final", "")]
    state.close()


def test_the_owner_releases_it_through_a_file_while_the_agent_runs(tmp_path):
    state = State(tmp_path, DEVICE, simulated=True)
    agent = held(state=state)
    due = agent.next_due(10.0)
    assert 10.0 < due <= 12.0, "it looks again soon"
    looking = State(tmp_path, None, read_only=True)
    assert looking.holds.request("test").why == agent.held
    looking.holds.request("test")  # twice does no harm
    looking.close()
    assert len(reports(agent.outgoing(due))) == 1
    assert not list(tmp_path.glob("*.release")), "asked and answered"
    state.close()


def test_a_release_is_about_one_report(tmp_path):
    """What the owner has seen once does not release what comes later."""
    state = State(tmp_path, DEVICE, simulated=True)
    agent = held(state=state)
    state.holds.request("test")
    request = next(tmp_path.glob("*.release"))
    state.forget("test")
    agent = simulated(OF, state=state, seed=SEED)
    agent.learn_many(*wrong())
    agent.outgoing(2.0)
    assert request.exists()
    assert agent.phase is Phase.HELD
    assert stages(agent) == [(HOLD, HELD), (HOLD, HELD)]
    assert [row.first for row in state.ledger()] == [0, N], "each decision is about its own records"
    state.close()


def test_there_is_nothing_to_release_where_nothing_is_held(tmp_path):
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(OF, state=state)
    with pytest.raises(StateError, match="'test' holds no report back: there is nothing"):
        state.holds.request("test")
    agent.release()
    agent.learn_many(*data(OF, N))
    assert reports(agent.outgoing(1.0))
    state.close()


def test_an_owner_who_wants_no_hold_has_none_and_pays_for_none():
    agent = simulated(OF, policy=Policy(hold=False))
    agent.learn_many(*wrong())
    assert reports(agent.outgoing(1.0))
    assert stages(agent) == [("final", "")]


def test_a_policy_that_is_changed_lets_it_go(tmp_path):
    state = State(tmp_path, DEVICE, simulated=True)
    held(state=state).checkpoint()
    agent = simulated(OF, state=state, policy=Policy(hold=False))
    assert agent.held == ""
    assert reports(agent.outgoing(1.0))
    state.close()


def test_a_report_of_few_records_is_not_judged():
    few = task(4)  # 100 records: the noise of the decision would hide them
    agent = simulated(few)
    agent.learn_many(*wrong(few, 100))
    assert reports(agent.outgoing(1.0))
    assert stages(agent) == [("final", "")]


def test_it_is_not_held_if_the_cap_has_no_room_for_the_decision(caplog):
    caplog.set_level("INFO")
    agent = simulated(OF, policy=Policy(epsilon=1.02))
    agent.learn_many(*wrong())
    assert reports(agent.outgoing(1.0))
    assert stages(agent) == [("final", "")]
    assert "the report cannot be held: the owner's cap has no room" in caplog.text


def test_it_takes_nothing_that_another_task_was_promised():
    state = State(None, DEVICE, simulated=True)
    both = math.sqrt(2.0) * mu_of(1.0, 1e-6)
    policy = Policy(epsilon=epsilon_of(both, 1e-6) + 0.001)
    first = simulated(OF, state=state, policy=policy)
    second = simulated(task(4, name="second", report={"records": N}), state=state, policy=policy)
    assert (first.phase, second.phase) == (Phase.LEARNING, Phase.LEARNING)
    first.learn_many(*wrong())
    assert reports(first.outgoing(1.0)), "there is room for both reports, and for no decision"
    second.learn_many(*data(OF, N))
    assert reports(second.outgoing(1.0))


def test_forgetting_begins_anew_and_keeps_what_was_spent(tmp_path):
    state = State(tmp_path, DEVICE, simulated=True)
    held(state=state).checkpoint()
    state.forget("test")
    agent = simulated(OF, state=state, seed=SEED)
    assert agent.phase is Phase.LEARNING
    assert agent.n == 0
    agent.learn_many(*data(OF, N))
    assert reports(agent.outgoing(1.0))
    assert stages(agent) == [(HOLD, HELD), (HOLD, PASSED), ("final", "")]
    state.close()


@pytest.mark.parametrize("of", [OF, TWO], ids=["moments", "rows"])
@pytest.mark.parametrize("runs", [1, 2])
def test_an_aggregator_that_shuts_a_device_out_and_lets_it_in_lifts_no_hold(tmp_path, of, runs):
    state = State(tmp_path, DEVICE, simulated=True)
    agent = held(of, state=state)
    agent.receive(*verdicts(of, final=WITHDRAWN))
    assert agent.phase is Phase.STOPPED
    agent.checkpoint(leaving=True)
    assert [entry["held"] for entry in task_entries(state)] == [""], "nothing can be done now"
    if runs == 2:
        state.close()
        state = State(tmp_path, DEVICE, simulated=True)
        agent = simulated(of, state=state, seed=SEED + 1)
    agent.receive(*verdicts(of))
    assert reports(agent.outgoing(1e6)) == []
    assert agent.phase is Phase.HELD
    assert stages(agent) == [(HOLD, HELD)], "it is decided once"
    agent.release()
    assert reports(agent.outgoing(2e6))[0].n == N, "what was learned is still there"
    state.close()


def verdicts(of, **about):
    """A receipt: topic and payload."""
    return topic(of.name, "receipt", DEVICE), encode(Receipt(of.digest, DEVICE, about))


# --- before it is due -----------------------------------------------------------------------------


def test_the_owner_is_warned_while_there_is_time(caplog):
    agent = simulated(OF)
    agent.learn_many(*wrong(OF, 40))
    agent.checkpoint()
    assert not caplog.text, "forty records may be chance"
    agent.learn_many(*wrong(OF, 20))
    agent.checkpoint()
    agent.learn_many(*wrong(OF, 20))
    agent.checkpoint()
    said = "test: look at your records before the report is due (60 of 300): x0, x1, x2, x3: far"
    assert caplog.text.count("look at your records") == 1
    assert said in caplog.text


def test_one_class_at_the_beginning_is_no_reason_to_worry(caplog):
    agent = simulated(OF)
    X, _ = data(OF, N)
    agent.learn_many(X[:100], ["a"] * 100)
    agent.checkpoint()
    assert not caplog.text
    agent.learn_many(X[100:200], ["a"] * 100)
    agent.checkpoint()
    assert "(200 of 300): nearly all of 200 records are of one class of 'y', of 3" in caplog.text


def test_counts_of_refused_records_outlive_the_report():
    agent = simulated(OF, seed=SEED, feed=Feed("csv:a"))
    X, y = data(OF, N)
    X[:7] = np.nan
    y[7] = "?"
    agent.learn_many(X, y)
    assert reports(agent.outgoing(1.0))
    assert agent.state.refused("test") == {"unknown response": 1, "not finite": 7}
    agent.state.forget("test")
    assert agent.state.refused("test") == {}
