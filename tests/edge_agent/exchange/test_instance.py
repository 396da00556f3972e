"""Copies of a state directory: nothing leaves before the answer, and all but one of them stop."""

from __future__ import annotations

import logging

import pytest

from edge_agent.agent import STORAGE_PAUSE_SECONDS, Agent, Phase
from edge_agent.consent.policy import Policy
from edge_agent.errors import StorageError
from edge_agent.exchange import instance
from edge_agent.exchange.outbox import Publish
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.privacy.noise import SeededNoise
from fsir.wire.decode import decode
from fsir.wire.messages import Ask, Verdict, report_id, topic
from tests.edge_agent.world import DEVICE, answer, data, receipt
from tests.fsir.tasks import task

PLAIN = task()
SHORT = Delays(first=1.0, longest=4.0)
STRANGE = b"s" * 16  # a number that nobody here has drawn


def started(state: State, now: float = 0.0, seed: int = 0) -> Agent:
    """An agent that is connected and has seen the task; nobody answers it by itself."""
    agent = Agent(
        state,
        PLAIN.name,
        noise=SeededNoise(seed, DEVICE),
        simulated=True,
        delays=SHORT,
        quiet_seconds=0.0,
    )
    agent.connected(now)
    agent.receive(topic(PLAIN.name, "task"), PLAIN.encode())
    return agent


@pytest.fixture
def state() -> State:
    return State(None, DEVICE, simulated=True)


def the_ask(messages: list[Publish]) -> Ask:
    """The one message, which is an ask."""
    (message,) = messages
    assert message.topic == topic(PLAIN.name, "ask", DEVICE)
    assert not message.retain
    return decode(message.payload, Ask)


def told(agent: Agent, ask: Ask, number: bytes = b"", **verdicts: Verdict) -> None:
    """The aggregator answers: with this number, or with yes."""
    agent.receive(*answer(PLAIN.name, ask, number, **verdicts))


def test_nothing_leaves_before_the_answer_but_the_ask(state: State) -> None:
    agent = started(state)
    agent.learn_many(*data(PLAIN, 100))
    ask = the_ask(agent.outgoing(0.0))
    assert (ask.task, ask.device, ask.previous) == (PLAIN.digest, DEVICE, b"")
    assert agent.phase is Phase.REPORTED
    for now in range(1, 200):
        assert all("/ask/" in message.topic for message in agent.outgoing(float(now)))
    told(agent, ask)
    (report,) = agent.outgoing(200.0)
    assert report.is_report


def test_a_number_is_on_the_disk_before_it_is_sent(state: State) -> None:
    ask = the_ask(started(state).outgoing(0.0))
    assert state.instances(PLAIN.name) == [ask.instance]


def test_every_connection_has_a_number_of_its_own_and_names_the_one_before(state: State) -> None:
    asks = []
    agent = started(state)
    for now in (0.0, 10.0, 20.0):
        agent.disconnected()
        agent.connected(now)
        asks.append(the_ask(agent.outgoing(now)))
        told(agent, asks[-1])
    asks.append(the_ask(started(state).outgoing(30.0)))
    numbers = [ask.instance for ask in asks]
    assert len(set(numbers)) == 4
    assert [ask.previous for ask in asks] == [b"", *numbers[:-1]]
    assert state.instances(PLAIN.name) == numbers[::-1]


def test_an_ask_is_repeated_at_growing_intervals_until_it_is_answered(
    state: State, caplog: pytest.LogCaptureFixture
) -> None:
    agent = started(state)
    due = agent.next_due(0.0)
    gaps = []
    first = the_ask(agent.outgoing(0.0))
    assert due == 0.0
    now = 0.0
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            due = agent.next_due(now)
            assert due is not None
            assert agent.outgoing(due - 1e-6) == []
            assert the_ask(agent.outgoing(due)) == first
            gaps.append(due - now)
            now = due
    for gap, base in zip(gaps, (1.0, 2.0, 4.0, 4.0, 4.0), strict=True):
        assert 0.5 * base <= gap <= 1.5 * base
    assert sum("reports leave only after" in line for line in caplog.messages) == 1
    told(agent, first)
    assert agent.next_due(now) is None
    assert agent.outgoing(1e6) == []


def test_the_answer_to_an_earlier_connection_opens_nothing(state: State) -> None:
    agent = started(state)
    agent.learn_many(*data(PLAIN, 100))
    first = the_ask(agent.outgoing(0.0))
    agent.disconnected()
    told(agent, first)  # what is retained may come before the subscription is confirmed
    agent.connected(1.0)
    told(agent, first)
    second = the_ask(agent.outgoing(1.0))
    told(agent, first)
    assert agent.outgoing(1.4) == []
    told(agent, second)
    assert [message.is_report for message in agent.outgoing(1.5)] == [True]


def test_an_aggregator_with_an_earlier_number_is_asked_from_there_and_not_at_once(
    state: State,
) -> None:
    """It was restored, or has missed asks: an honest device goes on."""
    asks = [the_ask(started(state).outgoing(0.0)) for _ in range(3)]
    agent = started(state)
    asks.append(the_ask(agent.outgoing(0.0)))
    agent.learn_many(*data(PLAIN, 100))
    told(agent, asks[3], asks[0].instance)
    assert agent.outgoing(0.0) == []
    due = agent.next_due(0.0)
    assert due is not None
    assert due >= 0.5
    again = the_ask(agent.outgoing(due))
    assert (again.instance, again.previous) == (asks[3].instance, asks[0].instance)
    told(agent, again)
    assert [message.is_report for message in agent.outgoing(due)] == [True]


def test_an_aggregator_that_is_restored_meanwhile_is_asked_again_before_more_leaves(
    state: State,
) -> None:
    first = the_ask(started(state).outgoing(0.0))
    agent = started(state)
    second = the_ask(agent.outgoing(0.0))
    told(agent, second)
    assert agent.next_due(100.0) is None
    told(agent, second, first.instance)
    agent.learn_many(*data(PLAIN, 100))
    third = the_ask(agent.outgoing(100.0))
    assert (third.instance, third.previous) == (second.instance, first.instance)
    told(agent, third)
    assert [message.is_report for message in agent.outgoing(100.0)] == [True]


def test_a_number_that_was_never_drawn_stops_the_device(
    state: State, caplog: pytest.LogCaptureFixture
) -> None:
    agent = started(state)
    agent.learn_many(*data(PLAIN, 100))
    ask = the_ask(agent.outgoing(0.0))
    assert agent.pending == 1
    told(agent, ask, STRANGE)
    assert agent.phase is Phase.STOPPED
    assert agent.displaced
    assert "another copy of this device's state directory takes part" in agent.reason
    assert "new device name in a new directory" in caplog.text
    assert agent.next_due(1e6) is None
    assert agent.outgoing(1e6) == []
    (row,) = state.ledger()
    assert (row.verdict, row.reason) == ("refused", "another copy of this device takes part")
    told(agent, ask)  # too late
    agent.disconnected()
    agent.connected(1e6)
    assert agent.outgoing(1e6) == []
    again = started(state, 2e6)
    assert again.displaced
    assert again.outgoing(2e6) == []
    assert again.next_due(2e6) is None
    assert len(state.instances(PLAIN.name)) == 1


def test_a_retained_number_of_another_copy_stops_a_device_before_it_asks(state: State) -> None:
    """Its ask could only take the number away if it named that."""
    agent = started(state)
    told(agent, Ask(PLAIN.digest, DEVICE, STRANGE))
    assert agent.displaced
    assert agent.outgoing(0.0) == []
    assert state.instances(PLAIN.name) == []


def test_a_report_that_both_copies_have_is_one_report(state: State) -> None:
    """The verdict is entered in the ledger of the one that stops, too."""
    agent = started(state)
    agent.learn_many(*data(PLAIN, 100))
    ask = the_ask(agent.outgoing(0.0))
    (waiting,) = state.outbox(PLAIN.name)
    told(agent, ask, STRANGE, final=Verdict(report_id(waiting.payload), "counted"))
    assert agent.displaced
    (row,) = state.ledger()
    assert row.verdict == "counted"


def test_a_number_of_another_edition_says_nothing(state: State) -> None:
    agent = started(state)
    ask = the_ask(agent.outgoing(0.0))
    told(agent, Ask(task(epoch=2).digest, DEVICE, STRANGE))
    assert not agent.displaced
    told(agent, ask)
    assert agent.next_due(0.0) is None


def test_a_device_that_has_stopped_with_nothing_to_send_asks_for_nothing(state: State) -> None:
    """It would move the number of the copy that goes on."""
    other = started(State(None, DEVICE, simulated=True), seed=1)
    other.learn_many(*data(PLAIN, 100))
    told(other, the_ask(other.outgoing(0.0)))
    agent = started(state)
    agent.receive(*receipt(PLAIN, other.outgoing(0.0)))
    assert agent.phase is Phase.STOPPED
    assert not agent.displaced
    assert agent.outgoing(0.0) == []
    assert agent.next_due(0.0) is None


def test_under_a_task_of_version_1_nobody_asks() -> None:
    old = task(version=1)
    state = State(None, DEVICE, simulated=True)
    willing = Policy(version_1=True)
    agent = Agent(state, old.name, willing, simulated=True, quiet_seconds=0.0)
    agent.connected(0.0)
    agent.receive(topic(old.name, "task"), old.encode())
    agent.learn_many(*data(old, 100))
    assert [message.is_report for message in agent.outgoing(0.0)] == [True]
    assert state.instances(old.name) == []
    told(agent, Ask(old.digest, DEVICE, STRANGE))
    assert agent.phase is Phase.REPORTED


# --- the disk -------------------------------------------------------------------------------------


def test_a_disk_that_takes_no_number_is_tried_again_later(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = started(state)
    agent.learn_many(*data(PLAIN, 100))
    with monkeypatch.context() as broken:
        broken.setattr(State, "keep_instances", _refuse)
        assert agent.outgoing(0.0) == []
        due = agent.next_due(0.0)
        assert due == STORAGE_PAUSE_SECONDS
    the_ask(agent.outgoing(due))


def test_a_copy_whose_disk_is_full_takes_no_number_away(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot note that it has stopped, and says nothing all the same."""
    agent = started(state)
    agent.learn_many(*data(PLAIN, 100))
    ask = the_ask(agent.outgoing(0.0))
    with monkeypatch.context() as broken:
        broken.setattr(State, "settle", _refuse)
        told(agent, ask, STRANGE)
        assert agent.phase is Phase.REPORTED
        told(agent, ask)  # an old answer opens nothing any more
        assert all(agent.outgoing(float(now)) == [] for now in range(100))
    assert agent.outgoing(200.0) == []
    assert agent.displaced


def _refuse(*_: object) -> None:
    raise StorageError("full")


def test_earlier_numbers_are_kept_up_to_a_bound(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "KEPT_NUMBERS", 5)
    asks = [the_ask(started(state).outgoing(0.0)) for _ in range(9)]
    assert state.instances(PLAIN.name) == [ask.instance for ask in asks[:2:-1]]


def test_what_is_forgotten_does_not_forget_the_numbers(state: State) -> None:
    the_ask(started(state).outgoing(0.0))
    before = state.instances(PLAIN.name)
    state.forget(PLAIN.name, unpin=True)
    assert state.instances(PLAIN.name) == before
    assert the_ask(started(state).outgoing(0.0)).previous == before[0]


def test_what_an_older_broker_has_kept_does_not_lead_the_first_ask_astray(state: State) -> None:
    """A receipt of a connection long ago: the ask still names the last number."""
    agent = started(state)
    first = the_ask(agent.outgoing(0.0))
    told(agent, first)
    for now in (10.0, 20.0):
        agent.disconnected()
        agent.connected(now)
        last = the_ask(agent.outgoing(now))
        told(agent, last)
    agent.disconnected()
    agent.connected(30.0)
    agent._dispatch.prepare()
    told(agent, first)  # kept since then
    assert the_ask(agent.outgoing(30.0)).previous == last.instance
