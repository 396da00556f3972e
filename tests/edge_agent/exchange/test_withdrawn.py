"""A device that the operator of the aggregator has withdrawn: it says so, stops, and serves on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edge_agent.agent import Agent, Phase
from edge_agent.cli import main
from edge_agent.exchange.outbox import Publish
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.limits import ID_BYTES
from fsir.wire.messages import Receipt, Verdict, encode, report_id, topic
from tests.edge_agent.world import DEVICE, data, receipt, simulated, subspace
from tests.fsir.tasks import task

PLAIN = task()
REASON = "withdrawn: 'dev-1' was taken out of this task"
WORDS = "withdrawn by the aggregator's operator"


def tell(agent: Agent, verdict: Verdict, digest: bytes = PLAIN.digest) -> None:
    """A receipt with this verdict about the final report."""
    raw = encode(Receipt(digest, DEVICE, {"final": verdict}))
    agent.receive(topic(PLAIN.name, "receipt", DEVICE), raw)


def reported(state: State) -> tuple[Agent, Publish]:
    """A device that has sent its report."""
    agent = simulated(PLAIN, state=state)
    agent.learn_many(*data(PLAIN, 100))
    (sent,) = agent.outgoing(1.0)
    return agent, sent


def test_one_that_was_counted_stops_and_goes_on_serving(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = State(tmp_path, DEVICE, simulated=True)
    agent, sent = reported(state)
    agent.receive(*receipt(PLAIN, [sent]))
    agent.receive(*subspace(PLAIN, PLAIN.features.names))
    tell(agent, Verdict(report_id(sent.payload), "counted", REASON))
    assert agent.phase is Phase.STOPPED
    assert agent.reason.startswith(WORDS)
    assert agent.outgoing(1e6) == []
    (row,) = state.ledger()
    assert row.verdict == "counted"
    assert agent.serve(Record(Position(7), {"x0": 0.5, "x1": 1.0, "x2": 0.0})) is not None
    state.close()
    assert main(["status", "--state", str(tmp_path)]) == 0
    assert f"stopped           version 1, 1 directions  {WORDS}: " in capsys.readouterr().out


def test_one_that_has_not_reported_never_does(tmp_path: Path) -> None:
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(PLAIN, state=state)
    agent.learn_many(*data(PLAIN, 99))
    assert agent.outgoing(0.0) == []  # its ask was answered
    tell(agent, Verdict(bytes(ID_BYTES), "refused", REASON))
    assert not agent.wants_records
    assert agent.learn_many(*data(PLAIN, 1)) == 0
    assert agent.outgoing(1e6) == []
    assert state.ledger() == []
    assert agent.reason.startswith(WORDS)
    state.close()
    again = simulated(PLAIN, state=State(tmp_path, DEVICE, simulated=True), kind=Agent)
    assert again.phase is Phase.STOPPED
    assert [message.topic.split("/")[3] for message in again.outgoing(1e6)] == ["ask"]
    again.state.close()


def test_one_asks_on_a_later_connection_and_goes_on_if_it_was_let_in_again() -> None:
    """Nobody keeps a message for it: what holds now it hears when it comes back."""
    agent = simulated(PLAIN, state=State(None, DEVICE, simulated=True))
    agent.learn_many(*data(PLAIN, 99))
    assert agent.outgoing(0.0) == []
    tell(agent, Verdict(bytes(ID_BYTES), "refused", REASON))
    assert agent.phase is Phase.STOPPED
    agent.disconnected()
    agent.connected(10.0)
    agent.outgoing(11.0)  # it asks, and nothing is said of a withdrawal
    assert agent.phase is Phase.LEARNING


@pytest.mark.parametrize("own", [True, False], ids=["about ours", "about another"])
def test_a_report_without_a_receipt_is_settled_and_sent_no_more(own: bool) -> None:
    state = State(None, DEVICE, simulated=True)
    agent, sent = reported(state)
    about = report_id(sent.payload) if own else bytes(ID_BYTES)
    tell(agent, Verdict(about, "refused", REASON))
    assert (agent.pending, agent.outgoing(1e6)) == (0, [])
    (row,) = state.ledger()
    assert row.verdict == "refused"
    assert row.reason.startswith("withdrawn")
    assert agent.reason.startswith(WORDS)


def test_other_reasons_and_other_editions_do_not_stop_it() -> None:
    state = State(None, DEVICE, simulated=True)
    agent, sent = reported(state)
    tell(agent, Verdict(report_id(sent.payload), "refused", "implausible: withdrawn: no"))
    assert agent.phase is Phase.SERVING
    earlier = replace(PLAIN, epoch=2).digest
    tell(agent, Verdict(report_id(sent.payload), "counted", REASON), earlier)
    assert not agent.reason.startswith(WORDS)
