"""Agents whose report is about records that are plainly wrong."""

from __future__ import annotations

from fsir.limits import ID_BYTES
from fsir.wire.messages import Verdict
from tests.edge_agent.world import data, reports, simulated
from tests.fsir.tasks import screened, task

N = 300
OF = task(4, report={"records": N})
TWO = task(6, screening=screened(6, records="same").table()["screening"], report={"records": N})
WITHDRAWN = Verdict(bytes(ID_BYTES), "refused", "withdrawn: 'dev-1' was taken out of this task")
SEED = 1  # of noise that is less than two standard deviations


def wrong(of=OF, n=N):
    """Records of which one feature has another unit."""
    X, y = data(of, n)
    return X * 1e6, y


def held(of=OF, **settings):
    """An agent that holds its report."""
    agent = simulated(of, seed=SEED, **settings)
    agent.learn_many(*wrong(of))
    assert reports(agent.outgoing(1.0)) == []
    return agent


def stages(agent):
    return [(row.stage, row.verdict) for row in agent.state.ledger()]
