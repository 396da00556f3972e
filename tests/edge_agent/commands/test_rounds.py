"""Rounds in what a device tells its owner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edge_agent.cli import main
from edge_agent.consent.policy import Policy
from edge_agent.page.look import read
from edge_agent.page.pace import Pace
from edge_agent.page.parts.budget import ledger
from edge_agent.page.parts.given import tasks
from edge_agent.state.state import State
from tests.edge_agent.learning.rounds import PATIENT, answered, learn_block, several
from tests.edge_agent.world import DEVICE, simulated

OF = several(5)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The state of a device that has made two rounds, and learns for the third."""
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(OF, state=state, policy=PATIENT)
    for step in range(2):
        learn_block(agent)
        answered(agent, float(step))
    state.close()
    return tmp_path


def test_status_names_the_round(directory, capsys):
    assert main(["status", "--state", str(directory)]) == 0
    out = capsys.readouterr().out
    assert "test: round 2 of 5 is the last that was made" in out
    assert main(["status", "--state", str(directory), "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (entry["phase"], entry["round"], entry["rounds"]) == ("learning", 2, 5)


def test_the_ledger_names_rounds_and_their_records(directory, capsys):
    assert main(["ledger", "--state", str(directory)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "final " in lines[1]
    assert "0-19" in lines[1]
    assert "final 2" in lines[2]
    assert "20-39" in lines[2]
    assert "correlated gaussian" in lines[2]
    assert "epsilon 1 " in lines[-1]


def test_the_page_names_rounds(directory):
    look = read(directory, 1e-6)
    given = "".join(map(str, tasks(look, lambda _: Pace(), now=0.0)))
    assert "The final report of round 2 was made" in given
    assert "round 2 of 5 is the last that was made" in given
    spent = "".join(map(str, ledger(look, Policy(), named=False)))
    assert "final report of round 2" in spent
    assert [round(release.raised, 9) for release in look.releases][1:] == [0.0]


def test_check_refuses_rounds_that_the_owner_did_not_allow(directory, tmp_path, capsys):
    policy = tmp_path / "policy.toml"
    policy.write_text("rounds = 4\n")
    arguments = ["check", "--task", OF.name, "--state", str(directory), "--policy", str(policy)]
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert "5 rounds, each about the next 20 records" in out
    assert "a habit, 1 record in each round" in out
    assert "to accept them: rounds = 5" in out
    policy.write_text("rounds = 5\nepsilon_for_100_records = 3\n")
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert "Rounds: at most 5." in out
    assert "About any 100 records together: at most epsilon 3." in out
    assert "any 100 records together would have told" in out
    policy.write_text("rounds = 5\n")
    assert main(arguments) == 0
