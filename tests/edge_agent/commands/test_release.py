"""`fsir-agent release`: a report that is held goes when its owner says so, and not before."""

from __future__ import annotations

import json

import pytest

from edge_agent.agent import Feed
from edge_agent.cli import main
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, data, reports, simulated
from tests.fsir.tasks import task

OF = task(4, report={"records": 300})
WHY = "x0, x1, x2, x3: far outside of what the task expects in at least half of 300 records"


@pytest.fixture
def state(tmp_path):
    """Of a device that holds its report."""
    state = State(tmp_path / "state", DEVICE, simulated=True)
    agent = simulated(OF, state=state, seed=1)
    X, y = data(OF, 300)
    X[3] = float("nan")
    agent.learn_many(X * 1e6, y)
    assert not reports(agent.outgoing(1.0))
    yield state
    state.close()


def status(directory, capsys, *more):
    assert main(["status", "--state", str(directory), *more]) == 0
    return capsys.readouterr().out


def test_while_no_agent_runs(state, tmp_path, capsys):
    directory = tmp_path / "state"
    state.close()
    before = status(directory, capsys)
    assert "test  held   300 of 300" in before
    assert f"test: HELD, and nothing is sent: {WHY}" in before
    assert f"`fsir-agent release test --state {directory}`" in before
    assert "test: 1 records not accepted: not finite" in before
    assert main(["release", "test", "--state", str(directory)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"released: the report of test, which was held: {WHY}")
    assert "A running agent sends it within seconds, another one when it is started." in said
    after = status(directory, capsys)
    assert f"test: released, and sent as soon as the agent runs: {WHY}" in after
    again = State(directory, DEVICE, simulated=True)
    agent = simulated(OF, state=again)
    assert reports(agent.outgoing(1.0))
    again.close()
    told = json.loads(status(directory, capsys, "--json"))["tasks"][0]
    assert (told["held"], told["released"], told["suspicious"]) == ("", False, [])
    assert told["refused"] == {"not finite": 1}, "it outlives the report"
    assert told["reports"] == {"final": "sent"}


def test_while_the_agent_runs(state, tmp_path, capsys):
    agent = simulated(OF, state=state)
    assert main(["release", "test", "--json", "--state", str(tmp_path / "state")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"device": DEVICE, "task": "test", "held": agent.held}
    assert reports(agent.outgoing(1.0))


def test_what_came_through_a_pipe_is_sent_by_the_agent_that_holds_it(tmp_path, capsys):
    """Another run drops it: to promise that it sends it would be wrong."""
    state = State(tmp_path, DEVICE, simulated=True)
    pipe = Feed("jsonl:-", replayable=False, stream="jsonl:-#1")
    agent = simulated(OF, state=state, seed=1, feed=pipe)
    X, y = data(OF, 300)
    agent.learn_many(X * 1e6, y)
    assert not reports(agent.outgoing(1.0))
    before = status(tmp_path, capsys)
    assert "To mend the source and begin anew: start the agent again." in before
    assert f"`fsir-agent release test --state {tmp_path}` while this agent runs" in before
    assert main(["release", "test", "--state", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "The agent that holds it sends it within seconds, if it still runs;" in said
    assert "another one when it is started" not in said
    assert "test: released, and sent by the agent that holds it" in status(tmp_path, capsys)
    state.close()


def test_an_agent_that_starts_with_a_released_report_does_not_say_that_it_is_held(
    state, tmp_path, caplog
):
    state.holds.request("test")
    caplog.clear()
    agent = simulated(OF, state=state)
    assert reports(agent.outgoing(1.0))
    assert "HELD" not in caplog.text


def test_the_ledger_shows_the_decision(state, tmp_path, capsys):
    assert main(["ledger", "--state", str(tmp_path / "state")]) == 0
    said = capsys.readouterr().out
    line = next(line for line in said.splitlines() if " hold " in line)
    assert " ".join(line.split()[2:]) == "test hold gaussian 0.05918 300 0-299 memory held"
    assert "together: epsilon 0.2" in said


@pytest.mark.parametrize("name", ["test", "other"])
def test_there_is_nothing_to_release(tmp_path, capsys, name):
    State(tmp_path / "state", DEVICE).close()
    assert main(["release", name, "--state", str(tmp_path / "state")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"fsir-agent: task {name!r} holds no report back: there is nothing to")
    assert not list((tmp_path / "state").glob("*.release"))


def test_there_is_no_state(tmp_path, capsys):
    assert main(["release", "test", "--state", str(tmp_path)]) == 2
    assert "has an agent run with this --state?" in capsys.readouterr().err


def test_a_link_in_its_place_is_not_followed(state, tmp_path):
    """Root may release for another user: what somebody has put there is left alone."""
    target = tmp_path / "somebody elses"
    hold = state.holds.of("test")
    (tmp_path / "state" / hold.request).symlink_to(target)
    assert main(["release", "test", "--state", str(tmp_path / "state")]) == 0
    assert not target.exists()
    agent = simulated(OF, state=state)
    assert reports(agent.outgoing(1.0))
    assert not (tmp_path / "state" / hold.request).is_symlink()


def test_status_tells_what_is_suspicious_before_anything_is_due(tmp_path, capsys):
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(OF, state=state)
    X, y = data(OF, 80)
    X[:, 2] = 1.5
    agent.learn_many(X, y)
    agent.checkpoint()
    said = status(tmp_path, capsys)
    assert "learning  80 of 300" in said
    assert (
        "test: look at your records: x2: the same value in nearly all of 80 records; is a sensor "
        "stuck?\n" in said
    )
    state.close()
