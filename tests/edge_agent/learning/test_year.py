"""A year of daily rounds of one device: its file and its memory stay small."""

from __future__ import annotations

import gc

from edge_agent.agent import Phase
from edge_agent.state.database import FILE
from edge_agent.state.state import State
from fsir.privacy.noise import SystemNoise
from tests.edge_agent.learning.rounds import PATIENT, answered, learn_block, several
from tests.edge_agent.world import DEVICE, simulated

DAYS = 365
DAY_SECONDS = 86400.0
WARM_DAYS = 60
FILE_BYTES = 2**20
FEW_OBJECTS = 100  # more than before: fewer than one for each round


def objects():
    """How many objects there are that can hold others."""
    gc.collect()
    return len(gc.get_objects())


def test_a_year_of_rounds_takes_little_room(tmp_path):
    daily = several(DAYS, records=2, report={"every": DAY_SECONDS})
    state = State(tmp_path, DEVICE, simulated=True)
    state._db.run("PRAGMA synchronous = OFF")  # this test is not about power cuts, and in a hurry
    now = [0.0]
    agent = simulated(daily, state=state, policy=PATIENT, noise=SystemNoise(), clock=lambda: now[0])
    for day in range(DAYS):
        now[0] = day * DAY_SECONDS
        agent.disconnected()
        agent.connected(now[0])  # a new number by which copies are told apart
        assert learn_block(agent) == 2
        agent.checkpoint()
        assert len(answered(agent, now[0])) == 1
        assert not state.outbox()
        if day == WARM_DAYS:
            before = objects()
    assert objects() - before < FEW_OBJECTS
    assert agent.phase is Phase.SERVING
    assert [row.round for row in state.ledger()] == list(range(1, DAYS + 1))
    assert {row.verdict for row in state.ledger()} == {"counted"}
    assert not state.keys.of(daily.digest)
    state.close()
    assert (tmp_path / FILE).stat().st_size < FILE_BYTES
