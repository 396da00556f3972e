"""The key of the noise of rounds: kept while it is needed, in a file of its owner alone."""

from __future__ import annotations

import stat

import pytest

from edge_agent.agent import Phase
from edge_agent.state.database import FILE
from edge_agent.state.state import State
from fsir.privacy.noise import SystemNoise
from fsir.privacy.rounds.correlated import KEY_BYTES
from tests.edge_agent.learning.rounds import PATIENT, answered, learn_block, several
from tests.edge_agent.world import DEVICE, simulated

OF = several(3)


def device(directory, of=OF):
    state = State(directory, DEVICE, simulated=True)
    return state, simulated(of, state=state, policy=PATIENT, noise=SystemNoise())


def report(agent):
    learn_block(agent)
    answered(agent, 1.0)


def test_it_is_drawn_with_the_first_round_and_overwritten_with_the_last(tmp_path):
    state, agent = device(tmp_path)
    assert not state.keys.of(OF.digest)
    report(agent)
    key = state.keys.of(OF.digest)
    assert len(key) == KEY_BYTES
    report(agent)
    assert state.keys.of(OF.digest)[:KEY_BYTES] == key
    assert len(state.keys.of(OF.digest)) == 2 * KEY_BYTES
    assert key in (tmp_path / FILE).read_bytes()
    report(agent)
    assert agent.phase is Phase.SERVING
    state.close()
    assert key not in (tmp_path / FILE).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_only_its_owner_can_read_it(tmp_path):
    (tmp_path / FILE).touch(mode=0o644)
    state, agent = device(tmp_path)
    report(agent)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    state.close()


@pytest.mark.usefixtures("either_state")
def test_independent_rounds_have_none():
    of = several(3, privacy={"noise": "independent"})
    _, agent = device(None, of)
    report(agent)
    report(agent)
    assert not agent.state.keys.of(of.digest)
    keys = [key for (key,) in agent.state._db.find("meta", ("key",))]
    assert not [key for key in keys if key.startswith("noise:")]


@pytest.mark.usefixtures("either_state")
def test_a_device_that_has_lost_it_makes_no_further_round():
    state, agent = device(None)
    report(agent)
    with state._db.transaction():
        state.keys.drop(OF.digest)
    again = simulated(OF, state=state, policy=PATIENT, noise=SystemNoise())
    assert again.phase is Phase.STOPPED
    assert "the key that the noise of its rounds is made from" in again.reason
    assert learn_block(again) == 0
    assert again.outgoing(1.0) == []
    assert len(state.ledger()) == 1


@pytest.mark.usefixtures("either_state")
def test_a_device_that_loses_it_while_it_runs_stops_instead_of_drawing_another():
    state, agent = device(None)
    report(agent)
    with state._db.transaction():
        state.keys.drop(OF.digest)
    report(agent)
    assert agent.phase is Phase.STOPPED
    assert "the key that the noise" in agent.reason
    assert len(state.ledger()) == 1


@pytest.mark.usefixtures("either_state")
def test_the_key_of_some_rounds_is_not_that_of_all():
    state, agent = device(None)
    report(agent)
    report(agent)
    with state._db.transaction():
        state.keys.put(OF.digest, state.keys.of(OF.digest)[:KEY_BYTES])
    again = simulated(OF, state=state, policy=PATIENT, noise=SystemNoise())
    assert again.phase is Phase.STOPPED
    report(agent)
    assert agent.phase is Phase.STOPPED
    assert len(state.ledger()) == 2


@pytest.mark.usefixtures("either_state")
def test_who_gives_a_task_up_gives_up_its_next_rounds():
    state, agent = device(None)
    report(agent)
    state.forget(OF.name)
    assert state.keys.of(OF.digest)
    state.forget(OF.name, unpin=True)
    assert not state.keys.of(OF.digest)
    again = simulated(OF, state=state, policy=PATIENT, noise=SystemNoise())
    assert again.phase is Phase.STOPPED


@pytest.mark.usefixtures("either_state")
def test_a_report_that_the_disk_did_not_take_leaves_no_key(monkeypatch):
    state, agent = device(None)
    real = state._db.insert

    def full(table, row):
        if table == "outbox":
            raise RuntimeError("died")
        real(table, row)

    monkeypatch.setattr(state._db, "insert", full)
    learn_block(agent)
    with pytest.raises(RuntimeError, match="died"):
        agent.outgoing(1.0)
    assert not state.keys.of(OF.digest)
    assert not state.ledger()
