"""`cryptography` is needed for tasks with two aggregators, and loaded for no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

from edge_agent.consent import admission
from edge_agent.consent.admission import Feed, refusals
from edge_agent.consent.policy import Policy
from edge_agent.state.state import State
from tests.edge_agent.secure.answering import TASK
from tests.edge_agent.world import DEVICE
from tests.fsir.tasks import task

_LOADED = """
import sys
from tests.edge_agent.world import data, simulated
from tests.fsir.tasks import task
of = task()
agent = simulated(of)
agent.learn_many(*data(of, 100))
assert len(agent.outgoing(1.0)) == 1
assert "cryptography" not in sys.modules
"""


def test_an_ordinary_report_is_made_without_it():
    subprocess.run([sys.executable, "-c", _LOADED], check=True)


@pytest.mark.parametrize("module", ["nobody_has.this", "cryptography.hazmat.primitives.nothing"])
def test_without_it_a_task_with_two_aggregators_is_refused_with_the_remedy(module, monkeypatch):
    state = State(None, DEVICE)
    assert refusals(state, TASK, Policy(), Feed()) == []
    monkeypatch.setattr(admission, "_SEALING", module)
    (reason,) = refusals(state, TASK, Policy(), Feed())
    assert "needs the package cryptography, version 50 or later" in reason
    assert "pip install 'fsir-edge[secure]'" in reason
    assert refusals(state, task(), Policy(), Feed()) == []
