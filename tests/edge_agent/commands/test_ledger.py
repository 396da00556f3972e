"""`fsir-agent ledger`: every release, and the total."""

from __future__ import annotations

import json

from edge_agent.cli import main
from edge_agent.consent.policy import Policy
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, data, simulated
from tests.fsir.tasks import task


def test_ledger(lived, capsys):
    assert main(["ledger", "--state", str(lived)]) == 0
    assert "together: epsilon 0.5 at delta 1e-06; " in capsys.readouterr().out
    assert main(["ledger", "--json", "--state", str(lived)]) == 0
    (row,) = json.loads(capsys.readouterr().out)["releases"]
    assert (row["task"], row["stage"], row["verdict"]) == ("done", "final", "counted")
    assert (row["first"], row["last"]) == (0, 99)


def test_an_infinite_cost_is_valid_json(tmp_path, capsys):
    leaky = task(privacy={"mechanism": "none"})
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(leaky, state=state, policy=Policy(unproven=("none",)))
    agent.learn_many(*data(leaky, 100))
    agent.outgoing(1.0)
    state.close()
    assert main(["ledger", "--json", "--state", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] is None
    main(["ledger", "--state", str(tmp_path)])
    assert "no bound" in capsys.readouterr().out
