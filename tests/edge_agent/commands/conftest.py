"""Fixtures of the commands: files of a task and a policy, and a state that has seen something."""

from __future__ import annotations

import pytest
import tomli_w

from edge_agent.state.state import State
from fsir.task.public_map import as_text
from tests.edge_agent.world import DEVICE, data, receipt, simulated, subspace
from tests.fsir.tasks import task

TWO_STAGES = {"keep": 2, "limit": 4, "final_norm": 1.5}


@pytest.fixture
def files(tmp_path):
    """A task file and a policy file."""

    def write(of, policy=""):
        (tmp_path / "task.toml").write_text(tomli_w.dumps(as_text(of.table())))
        (tmp_path / "agent.toml").write_text(policy)
        return ["--task", str(tmp_path / "task.toml"), "--policy", str(tmp_path / "agent.toml")]

    return write


@pytest.fixture
def lived(tmp_path):
    """The state of a device that has reported one task and is in the middle of another."""
    done = task(name="done", privacy={"epsilon": 0.5})
    busy = task(6, name="busy", privacy={"epsilon": 0.5}, screening=TWO_STAGES)
    state = State(tmp_path / "state", DEVICE, simulated=True)
    agent = simulated(done, state=state)
    agent.learn_many(*data(done, 100))
    agent.receive(*receipt(done, agent.outgoing(1.0)))
    agent.receive(*subspace(done, done.features.names))
    other = simulated(busy, state=state)
    X, y = data(busy, 40)
    y[3] = "?"
    other.learn_many(X, y)
    other.checkpoint()
    simulated(task(name="greedy", privacy={"epsilon": 3.0}), state=state)
    state.close()
    return tmp_path / "state"
