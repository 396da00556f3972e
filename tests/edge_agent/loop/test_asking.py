"""What a device cannot go on without, and so asks its broker for again."""

from __future__ import annotations

from edge_agent.loop.asking import awaited
from tests.edge_agent.world import active, data, receipt, reports, simulated, subspace
from tests.fsir.tasks import screened, task

RECEIPT = "fsir/1/test/receipt/dev-1"
SUBSPACE = "fsir/1/test/subspace"


def test_the_receipt_until_it_has_come_and_then_the_subspace():
    of = task()
    agent = simulated(of)
    assert awaited(agent) == []
    agent.learn_many(*data(of, 100))
    sent = agent.outgoing(0.0)
    assert awaited(agent) == [RECEIPT]
    agent.receive(*receipt(of, sent))
    assert awaited(agent) == [SUBSPACE]
    agent.receive(*subspace(of, of.features.names))
    assert awaited(agent) == []


def test_the_active_set_beside_the_receipt():
    of = screened()
    agent = simulated(of)
    agent.learn_many(*data(of, 100))
    sent = agent.outgoing(0.0)
    assert awaited(agent) == [RECEIPT, "fsir/1/test/active"]
    agent.receive(*receipt(of, sent))
    assert awaited(agent) == ["fsir/1/test/active"]
    agent.receive(*active(of, "x1", "x4"))
    assert awaited(agent) == []
    final = agent.outgoing(0.0)
    assert [report.stage for report in reports(final)] == ["final"]
    assert awaited(agent) == [RECEIPT]


def test_a_refused_report_awaits_no_receipt():
    of = task()
    agent = simulated(of)
    agent.learn_many(*data(of, 100))
    sent = agent.outgoing(0.0)
    agent.receive(*receipt(of, sent, status="refused", reason="no"))
    assert awaited(agent) == [SUBSPACE]
