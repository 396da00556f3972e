"""What the home is told is what the agents know."""

from __future__ import annotations

import json
import math

import msgpack
import pytest

from edge_agent.account.press import press
from edge_agent.consent.policy import Policy
from edge_agent.output.home.told import Told
from edge_agent.records import Position
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, data, receipt, simulated, subspace
from tests.fsir.tasks import task


@pytest.fixture
def home(tmp_path):
    """A state, and a function that makes what is told about agents in it."""
    state = State(tmp_path, DEVICE, simulated=True)

    def told(*agents, clock=lambda: 1000.0):
        return Told(state, tmp_path, Policy(), agents, clock)

    yield state, told
    state.close()


def test_while_learning(home):
    state, told = home
    agent = simulated(task(), state=state)
    agent.learn_many(*data(task(), 40))
    table = told(agent).table()
    assert table["device"] == DEVICE
    assert table["epsilon_spent"] == 0.0
    assert table["epsilon_cap"] == 2.0
    mine = table["tasks"]["test"]
    assert (mine["phase"], mine["records"], mine["of"]) == ("learning", 40, 100)
    assert (mine["activity"], mine["time"], mine["problem"]) == (None, None, "")
    assert told(agent).classes() == {"test": ("a", "b", "c")}


def test_what_is_spent_follows_the_report(home):
    state, told = home
    agent = simulated(task(), state=state)
    table = told(agent)
    assert table.table()["epsilon_spent"] == 0.0
    agent.learn_many(*data(task(), 100))
    agent.receive(*receipt(task(), agent.outgoing(1.0)))
    agent.receive(*subspace(task(), task().features.names))
    after = table.table()
    assert after["epsilon_spent"] == pytest.approx(1.0, rel=1e-3)
    assert after["tasks"]["test"]["phase"] == "serving"
    assert after["tasks"]["test"]["records"] is None


def test_a_deadline_that_came_too_soon_is_a_problem(home):
    state, told = home
    dated = task(report={"records": 5000, "deadline": 1_767_225_600, "sigma_0": 0.05})
    late = simulated(dated, state=state, policy=Policy(exact_count=True))
    problem = told(late).table()["tasks"]["test"]["problem"]
    assert problem.startswith("its deadline was 2026-01-01 00:00 UTC, and this device has 0 of")


def test_a_served_record(home):
    state, told = home
    table = told(simulated(task(), state=state))
    line = {"record": 7, "task": "test", "version": 2, "z": [1.0, -2.0], "answer": "a"}
    table.serve(line | {"confidence": 0.93123})
    mine = table.table()["tasks"]["test"]
    assert (mine["activity"], mine["confidence"]) == ("a", 93.1)
    assert mine["time"] == "1970-01-01T00:16:40+00:00"
    table.serve(line | {"answer": "b", "confidence": 0.5, "by": "device"})
    assert table.table()["tasks"]["test"]["activity"] == "b"
    # In doubt nothing is claimed.
    table.serve({"record": 8, "task": "test", "version": 2, "z": [1.0], "doubt": "hardly any"})
    mine = table.table()["tasks"]["test"]
    assert (mine["activity"], mine["confidence"], mine["doubt"]) == (None, None, "hardly any")


def test_everything_told_is_json_whatever_a_sensor_brings(home):
    state, told = home
    table = told(simulated(task(), state=state))
    table.serve({"record": 7, "task": "test", "version": 2, "z": [math.inf, math.nan]})
    assert json.loads(json.dumps(table.table(), allow_nan=False))["tasks"]["test"]["z"] is None


def test_an_unproven_mechanism_has_no_number(home, monkeypatch):
    state, told = home
    monkeypatch.setattr("edge_agent.output.home.told.spent", lambda rows, delta: math.inf)
    assert told(simulated(task(), state=state)).table()["epsilon_spent"] is None


def test_drift_lasts_until_the_next_version(home):
    state, told = home
    table = told(simulated(task(), state=state))
    line = {"record": 7, "task": "test", "version": 2, "z": [1.0]}

    def drift():
        return table.table()["tasks"]["test"]["drift"]

    assert not drift()
    table.serve(line | {"drift": "errors"})
    assert drift()
    table.serve(line)
    assert drift()
    table.serve(line | {"version": 3})
    assert not drift()


def test_drift_of_an_earlier_run_is_remembered(home):
    state, told = home
    agent = simulated(task(), state=state)
    known = {"now": {"version": 2, "drift": {"what": "errors"}}, "past": []}
    state.keep_recognition("test", "memory", Position(3), msgpack.packb(known))
    assert told(agent).table()["tasks"]["test"]["drift"]


def test_why_a_task_goes_on_without_this_device(home):
    state, told = home
    greedy = task(privacy={"epsilon": 3.0})
    agent = simulated(greedy, state=state)
    mine = told(agent).table()["tasks"]["test"]
    assert mine["phase"] == "refused"
    assert "the owner's cap is 2" in mine["problem"]
    assert told(agent).classes() == {"test": ()}


def test_the_label_that_holds_now(home, tmp_path):
    state, told = home
    agent = simulated(task(), state=state)
    now = [1000.0]
    table = told(agent, clock=lambda: now[0])
    assert table.table()["label"] is None
    press(tmp_path, "b", 1000.0)
    assert table.table()["label"] == "b"
    now[0] += 1801.0
    assert table.table()["label"] is None
