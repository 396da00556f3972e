"""What receipts of rounds mean to a device."""

from __future__ import annotations

import pytest

from edge_agent.agent import Phase
from edge_agent.exchange.words import said
from edge_agent.state.state import State
from fsir.wire.messages import Receipt, Verdict, encode, topic
from tests.edge_agent.learning.rounds import PATIENT, answered, learn_block, several
from tests.edge_agent.world import DEVICE, receipt, reports, simulated

OF = several(3)
STRANGE = b"s" * 16


def verdict(round, report=STRANGE, status="counted", reason=""):
    verdicts = {"final": Verdict(report, status, reason, round)}
    return topic(OF.name, "receipt", DEVICE), encode(Receipt(OF.digest, DEVICE, verdicts))


def through(agent, rounds):
    for step in range(rounds):
        learn_block(agent)
        answered(agent, float(step))


def test_a_receipt_of_a_later_round_means_that_this_state_is_older():
    agent = simulated(OF, policy=PATIENT)
    through(agent, 1)
    agent.receive(*verdict(3))
    assert agent.phase is Phase.STOPPED
    assert "a final report of round 3 of device 'dev-1' that this state directory" in agent.reason
    learn_block(agent)
    assert agent.outgoing(10.0) == []


def test_a_restored_backup_is_stopped_by_the_receipt_that_the_broker_keeps(tmp_path):
    state = State(tmp_path / "original", DEVICE, simulated=True)
    agent = simulated(OF, state=state, policy=PATIENT)
    through(agent, 1)
    backup = (tmp_path / "original" / "agent.sqlite").read_bytes()
    learn_block(agent)
    last = agent.outgoing(5.0)
    answer = receipt(OF, last)
    agent.receive(*answer)
    state.close()
    (tmp_path / "original" / "agent.sqlite").write_bytes(backup)
    restored = State(tmp_path / "original", DEVICE, simulated=True)
    again = simulated(OF, state=restored, policy=PATIENT)
    again.receive(*answer)
    learn_block(again)
    assert again.outgoing(1.0) == []
    assert "round 2" in again.reason
    assert len(restored.ledger()) == 1
    restored.close()


def test_another_report_that_was_counted_for_our_round_stops_us():
    agent = simulated(OF, policy=PATIENT)
    through(agent, 2)
    agent.receive(*verdict(2))
    assert agent.phase is Phase.STOPPED


def test_receipts_of_earlier_rounds_are_history():
    agent = simulated(OF, policy=PATIENT)
    through(agent, 2)
    first = agent.state.ledger()[0]
    learn_block(agent)
    agent.outgoing(5.0)
    agent.receive(*verdict(1, first.report))
    assert agent.pending == 1
    assert agent.reason == ""


@pytest.mark.parametrize("reason", ["implausible: far out", "internal error: see its log"])
def test_a_round_that_is_refused_alone_does_not_end_the_others(reason):
    agent = simulated(OF, policy=PATIENT)
    through(agent, 1)
    learn_block(agent)
    answered(agent, 5.0, "refused", reason)
    assert agent.phase is Phase.LEARNING
    learn_block(agent)
    assert [report.round for report in reports(agent.outgoing(6.0))] == [3]
    assert [row.verdict for row in agent.state.ledger()] == ["counted", "refused", ""]


@pytest.mark.parametrize("reason", ["full: no more", "second report: another one was counted"])
def test_a_reason_that_holds_for_the_next_rounds_ends_them(reason):
    agent = simulated(OF, policy=PATIENT)
    learn_block(agent)
    answered(agent, 5.0, "refused", reason)
    assert agent.phase is Phase.STOPPED
    assert "refused round 1" in agent.reason


def test_the_only_round_that_is_refused_leaves_a_device_as_ever():
    alone = several(1)
    agent = simulated(alone)
    learn_block(agent)
    answered(agent, 5.0, "refused", "full: no more")
    assert agent.phase is Phase.SERVING


def test_a_device_that_is_let_in_again_goes_on_with_the_next_round():
    agent = simulated(OF, policy=PATIENT)
    through(agent, 1)
    learn_block(agent)
    agent.checkpoint()
    (first,) = agent.state.ledger()
    agent.receive(*verdict(1, first.report, reason="withdrawn: by hand"))
    assert agent.phase is Phase.STOPPED
    agent.receive(*verdict(1, first.report))
    assert [report.round for report in reports(agent.outgoing(6.0))] == [2]


def test_messages_name_the_round():
    agent = simulated(OF, policy=PATIENT)
    through(agent, 1)
    learn_block(agent)
    (message,) = agent.outgoing(5.0)
    assert "the final report of round 2 of dev-1" in said(message.topic, message.payload).words
    assert "final report of round 2" in said(*receipt(OF, [message])).words
