"""A report goes on being sent, the same bytes, until leader and helper have both answered."""

from __future__ import annotations

import pytest

from edge_agent.agent import Agent, Phase
from edge_agent.state.state import State
from fsir.limits import ID_BYTES
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.privacy.rounds.correlated import round_noise
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.wire.decode import decode
from fsir.wire.messages import Ask, Receipt, Verdict, encode, receipt_topic
from fsir.wire.shared import decode_shared
from tests.aggregator.secure.pair import secure_task
from tests.edge_agent.learning.rounds import PATIENT, learn_block
from tests.edge_agent.secure.answering import TASK, answer, led, opened_alone, reported, yes
from tests.edge_agent.world import DEVICE, data, simulated
from tests.fsir.tasks import task as plain_task

OTHER = {LEADER: HELPER, HELPER: LEADER}
NAMES = {LEADER: "hospital", HELPER: "university"}
WITHDRAWN = "withdrawn: 'dev-1' was taken out of this task"


def state_in(path):
    return State(path, DEVICE, simulated=True)


def test_what_two_can_open_together_is_the_release_and_nothing_of_it_is_open():
    agent, sent = reported()
    report = decode_shared(sent.payload)
    assert (report.device, report.n, report.stage) == (DEVICE, 100, "final")
    stage = first_stage(TASK)
    moments = Moments(TASK, stage)
    moments.learn_many(*data(TASK, 100))
    released = release(moments, round_noise(SeededNoise(0, DEVICE), stage, 1))
    expected = [int(value) for block in released.blocks for value in block]
    assert opened_alone(TASK, stage, sent.payload) == expected
    (row,) = agent.state.ledger()
    assert (row.mu, row.numbers) == (stage.mu, stage.numbers)


@pytest.mark.parametrize("first", ROLES)
def test_one_answer_is_remembered_and_the_same_bytes_go_on_until_the_other_comes(first, tmp_path):
    agent, sent = reported(state=state_in(tmp_path))
    agent.receive(*answer(sent, first))
    assert (agent.pending, agent.phase) == (1, Phase.REPORTED)
    agent.state.close()
    again = led(state=state_in(tmp_path))
    (repeated,) = again.outgoing(1e6)
    assert repeated.payload == sent.payload
    (row,) = again.state.ledger()
    assert row.verdict == ""
    again.receive(*answer(sent, OTHER[first], "duplicate"))
    assert (again.pending, again.phase, again.outgoing(2e6)) == (0, Phase.SERVING, [])
    (row,) = again.state.ledger()
    assert (row.verdict, row.reason) == ("counted", "")
    assert again.state.answers(row.report) == {}
    again.state.close()


@pytest.mark.parametrize("first", ROLES)
def test_the_same_answer_twice_is_no_answer_of_the_other(first):
    agent, sent = reported()
    for _ in range(3):
        agent.receive(*answer(sent, first))
    assert agent.pending == 1


@pytest.mark.parametrize("by", ROLES)
def test_a_refusal_by_one_settles_it_and_says_by_whom_and_what_it_means(by):
    agent, sent = reported()
    agent.receive(*answer(sent, OTHER[by]))
    agent.receive(*answer(sent, by, "refused", "not enrolled: 'dev-1' is not on the roster"))
    assert (agent.pending, agent.outgoing(1e6)) == (0, [])
    (row,) = agent.state.ledger()
    assert row.verdict == "refused"
    assert row.reason.startswith("not enrolled: 'dev-1' is not on the roster")
    assert f"(by the {by} {NAMES[by]!r}; without it no sum with this report is" in row.reason


@pytest.mark.parametrize("by", ROLES)
def test_a_receipt_on_the_topic_of_the_other_one_counts_for_nobody(by, caplog):
    agent, sent = reported()
    _, raw = answer(sent, by)
    agent.receive(receipt_topic(TASK.name, DEVICE, OTHER[by]), raw)
    assert f"receipt by {by!r}: on this topic speaks {OTHER[by]}" in caplog.text
    assert agent.state.answers(agent.state.outbox()[0].report) == {}


def test_an_aggregator_that_does_not_say_which_it_is_counts_for_nobody(caplog):
    agent, sent = reported()
    agent.receive(receipt_topic(TASK.name, DEVICE), answer(sent, "")[1])
    assert "receipt by 'a single aggregator': on this topic speaks leader" in caplog.text
    assert agent.pending == 1


@pytest.mark.parametrize("by", ROLES)
def test_a_device_is_let_in_again_by_who_has_taken_it_out(by):
    agent, sent = reported()
    for role in ROLES:
        agent.receive(*answer(sent, role))
    agent.receive(*answer(sent, by, "counted", WITHDRAWN))
    assert agent.reason.startswith(f"withdrawn by the operator of the {by} {NAMES[by]!r}")
    agent.receive(*answer(sent, OTHER[by]))
    assert agent.phase is Phase.STOPPED
    agent.receive(*answer(sent, by))
    assert agent.phase is Phase.SERVING


@pytest.mark.parametrize("by", ROLES)
def test_a_report_that_this_state_did_not_make_stops_it_whoever_has_it(by):
    agent, _ = reported()
    strange = {"final": Verdict(bytes(ID_BYTES), "counted")}
    raw = encode(Receipt(TASK.digest, DEVICE, strange, by=by))
    agent.receive(receipt_topic(TASK.name, DEVICE, by), raw)
    assert "did not make" in agent.reason
    assert (agent.pending, agent.outgoing(1e6)) == (0, [])


def test_the_number_of_another_copy_is_the_leaders_to_tell():
    for by, displaced in ((HELPER, False), (LEADER, True)):
        agent, _ = reported()
        raw = encode(Receipt(TASK.digest, DEVICE, {}, b"another copy's #", by))
        agent.receive(receipt_topic(TASK.name, DEVICE, by), raw)
        assert agent.displaced is displaced


@pytest.mark.parametrize("first", [LEADER, HELPER])
def test_nothing_leaves_before_both_have_answered_the_ask(first, caplog):
    agent = simulated(TASK, kind=Agent)
    agent.learn_many(*data(TASK, TASK.report.records))
    (asked,) = agent.outgoing(1.0)
    ask = decode(asked.payload, Ask)
    other = HELPER if first == LEADER else LEADER
    agent.receive(*yes(ask, first))
    agent.receive(*yes(ask._replace(instance=b"another question"), HELPER))
    (again,) = agent.outgoing(1e5)
    assert again == asked
    assert f"no answer of the {other} yet" in caplog.text
    agent.receive(*yes(ask, other))
    (sent,) = agent.outgoing(2e5)
    assert sent.is_report


def test_what_the_helper_alone_still_knows_stops_a_restored_device():
    """The leader has lost its store: the answer of the other one comes before anything leaves."""
    agent = simulated(TASK, kind=Agent)
    agent.learn_many(*data(TASK, TASK.report.records))
    (asked,) = agent.outgoing(1.0)
    ask = decode(asked.payload, Ask)
    agent.receive(*yes(ask, LEADER))
    known = {"final": Verdict(bytes(16), "counted")}
    raw = encode(Receipt(ask.task, DEVICE, known, ask.instance, HELPER))
    agent.receive(receipt_topic(TASK.name, DEVICE, HELPER), raw)
    assert agent.phase is Phase.STOPPED
    assert agent.outgoing(1e6) == []


def test_the_next_round_waits_for_both():
    rounds = secure_task(4, cohort=4, report={"records": 20, "rounds": 3})
    agent = led(rounds, policy=PATIENT)
    for round_ in (1, 2, 3):
        learn_block(agent)  # of later rounds: done already
        now = 1e6 * round_
        (sent,) = agent.outgoing(now)
        assert decode_shared(sent.payload).round == round_
        learn_block(agent)
        agent.receive(*answer(sent, LEADER, task=rounds))
        repeated = agent.outgoing(now + 1e5)
        assert [message.payload for message in repeated] == [sent.payload]
        agent.receive(*answer(sent, HELPER, task=rounds))
    assert [row.round for row in agent.state.ledger()] == [1, 2, 3]
    assert agent.phase is Phase.SERVING


def test_a_device_reads_the_helpers_receipts_once_it_knows_that_there_is_one():
    helpers = receipt_topic(TASK.name, DEVICE, HELPER)
    assert helpers in led().subscriptions()
    alone = plain_task()
    agent = led(alone)
    assert receipt_topic(alone.name, DEVICE, HELPER) not in agent.subscriptions()
