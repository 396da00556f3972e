"""`fsir-agent status`: how far each task is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from edge_agent.cli import main
from edge_agent.consent.policy import Policy
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.estimate.subspace import estimate
from fsir.wire.messages import encode, topic
from tests.edge_agent.world import DEVICE, active, data, receipt, simulated
from tests.fsir.estimate.public.worlds import World
from tests.fsir.tasks import screened, task


def test_status(lived, capsys):
    assert main(["status", "--state", str(lived)]) == 0
    said = capsys.readouterr().out
    assert "40 of 100" in said
    assert "1 records not accepted: unknown response" in said
    assert "version 1, 1 directions" in said
    assert main(["status", "--json", "--state", str(lived)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["epsilon_spent"] == pytest.approx(0.5, rel=1e-3)
    by_name = {entry["task"]: entry for entry in answer["tasks"]}
    assert by_name["busy"]["phase"] == "learning"
    assert by_name["greedy"]["phase"] == "refused"
    assert by_name["done"]["reports"] == {"final": "counted"}
    assert "cap is 2" in by_name["greedy"]["reason"]


def test_a_cap_that_nobody_has_named_is_not_called_the_owners(lived, tmp_path, capsys):
    (tmp_path / "agent.toml").write_text("epsilon = 20.0\n")
    for command in ("status", "ledger"):
        assert main([command, "--state", str(lived)]) == 0
        assert "; the default cap is 2 (--policy FILE for your own)" in capsys.readouterr().out
        assert main([command, "--state", str(lived), "--policy", str(tmp_path / "agent.toml")]) == 0
        assert "; the owner's cap is 20\n" in capsys.readouterr().out


def test_status_of_a_device_that_waits_for_the_active_set(tmp_path, capsys):
    two = screened()
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(two, state=state)
    agent.learn_many(*data(two, 100))
    agent.outgoing(1.0)
    main(["status", "--json", "--state", str(tmp_path)])  # while the agent runs
    assert json.loads(capsys.readouterr().out)["tasks"][0]["phase"] == "waiting for the active set"
    agent.receive(*active(two, "x1", "x2"))
    agent.outgoing(2.0)
    main(["status", "--json", "--state", str(tmp_path)])
    assert json.loads(capsys.readouterr().out)["tasks"][0]["phase"] == "waiting for the receipt"
    state.close()


def test_status_says_what_the_federation_expects_and_what_is_in_doubt(tmp_path, capsys):
    world = World()
    public = world.task(records=100)
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(public, state=state)
    X, slices = world.records(100, world.people)
    agent.learn_many(X, slices.astype(str).tolist())
    agent.receive(*receipt(public, agent.outgoing(1.0)))
    found = estimate(public, world.totals(public, 5, records=100))
    note = "hardly any record of these classes was reported, or none: 2"
    doubtful = replace(found.classifier, doubtful=("2",))
    published = replace(found, classifier=doubtful, notes=(note,))
    agent.receive(topic(public.name, "subspace"), encode(published))
    served = [agent.serve(Record(Position(200 + i), row)) for i, row in enumerate(named(world))]
    state.close()
    assert main(["status", "--state", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "expects its classifier to be right" in said
    assert note in said
    # In place of an answer that is in doubt the line says so.
    silent = [line for line in served if "doubt" in line]
    spoken = [line for line in served if "class" in line]
    assert len(silent) + len(spoken) == len(served)
    assert silent
    assert all("hardly any record of '2'" in line["doubt"] for line in silent)
    assert all("confidence" not in line and "answer" not in line for line in silent)
    assert all(line["answer"] == line["class"] for line in spoken)
    assert {line["class"] for line in spoken} == {"0", "1"}


def named(world):
    X, _ = world.records(60, world.people)
    return [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]


def test_it_says_that_a_deadline_has_passed(tmp_path, capsys):
    """Otherwise "learning, 40 of 5000" would stand there for ever."""
    dated = task(4, report={"records": 5000, "deadline": 1_767_225_600, "sigma_0": 0.05})
    state = State(tmp_path, DEVICE, simulated=True)
    now = [1.7e9]
    policy = Policy(exact_count=True)
    agent = simulated(dated, state=state, policy=policy, clock=lambda: now[0])
    agent.learn_many(*data(dated, 40))
    agent.checkpoint()
    state.close()
    assert main(["status", "--state", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert (
        "test: too late: its deadline was 2026-01-01 00:00 UTC, and this device has 40 of" in said
    )
