"""One device and one task: who may take part, what is learned, and what comes back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from edge_agent.agent import Agent
from edge_agent.consent.policy import Policy
from edge_agent.errors import StateError
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.privacy.noise import SeededNoise, SystemNoise
from fsir.wire.messages import topic
from tests.edge_agent.world import DEVICE, data, records, reports, simulated, subspace
from tests.fsir.tasks import task


@pytest.mark.parametrize(("version", "used"), [(1, 102), (2, 100)])
def test_refused_records_count_as_null_and_did_not_in_version_1(version, used):
    plain = task(version=version)
    agent = simulated(plain, policy=Policy(version_1=True))
    X, y = data(plain, 150)
    X[3, 0] = np.nan
    y[5] = "unheard of"
    assert agent.learn_many(X, y) == used
    assert dict(agent.refused) == {"unknown response": 1, "not finite": 1}
    assert reports(agent.outgoing(1.0))[0].n == 100


def test_a_task_of_version_1_is_not_taken_any_more_but_one_that_was_begun_goes_on():
    """Otherwise whoever leaves out a field of a task would see when records of a class came."""
    old = task(version=1)
    state = State(None, DEVICE, simulated=True)
    new = Agent(state, old.name, simulated=True)
    new.receive(topic(old.name, "task"), old.encode())
    assert "of version 1" in new.reason
    begun = Agent(state, old.name, Policy(version_1=True), simulated=True)
    begun.receive(topic(old.name, "task"), old.encode())
    begun.learn_many(*data(old, 50))
    begun.checkpoint()
    again = Agent(state, old.name, simulated=True)
    assert (again.reason, again.n, again.wants_records) == ("", 50, True)


def test_columns_that_the_task_does_not_know_are_ignored_and_missing_ones_refused():
    plain = task()
    agent = simulated(plain)
    agent.learn(
        Record(Position(0), {"x0": "1", "x1": 2.0, "x2": "0.5", "y": "a", "battery": "full"})
    )
    assert agent.n == 1
    agent.learn(Record(Position(1), {"x0": 1.0, "x2": 2.0, "y": "a"}))
    agent.learn(Record(Position(2), {}))
    assert agent.n == 3
    assert dict(agent.refused) == {"missing feature": 1, "unknown response": 1}


def test_a_record_that_was_seen_is_not_learned_again():
    plain = task()
    agent = simulated(plain)
    for record in records(plain, 10) + records(plain, 10):
        agent.learn(record)
    assert agent.n == 10
    with pytest.raises(StateError, match="seen before"):
        agent.learn_many(*data(plain, 5), first=3)


def test_a_generator_that_can_be_predicted_is_refused():
    for state, options in (
        (State(None, DEVICE), {"noise": SeededNoise(1)}),
        (State(None, DEVICE, simulated=True), {"noise": SystemNoise()}),
        (State(None, DEVICE), {"simulated": True}),
    ):
        with pytest.raises(StateError):
            Agent(state, "test", **options)


def test_names_that_are_not_one_level_of_a_topic_are_refused():
    for device, name in (("a/b", "test"), ("dev", "te+st"), ("#", "test"), ("dev", "")):
        with pytest.raises(StateError):
            Agent(State(None, device), name)


def test_presence_needs_owner_and_task():
    for owner, asked in itertools.product((False, True), (False, True)):
        present = task(report={"presence": asked})
        agent = simulated(present, policy=Policy(presence=owner))
        topics = [message.topic for message in agent.outgoing(0.0)]
        assert topics == ([topic("test", "presence", DEVICE)] if owner and asked else [])


def test_a_subspace_is_remembered_without_a_broker():
    plain = task()
    agent = simulated(plain)
    agent.receive(*subspace(plain, plain.features.names))
    offline = Agent(agent.state, "test", simulated=True)
    assert offline.serve(Record(Position(0), {"x0": 1.0, "x1": 0.0, "x2": 0.0}))["z"] == [1.0]
    assert offline.serve(Record(Position(0), {"x0": 1.0})) is None
    assert offline.serve(Record(Position(0), {"x0": 1.0, "x1": "?", "x2": float("nan")})) is None
