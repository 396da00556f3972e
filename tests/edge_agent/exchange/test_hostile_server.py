"""A server that lies: all it can publish is refused with a reason, and the agent lives on."""

from __future__ import annotations

import math

import msgpack
import numpy as np
import pytest

from edge_agent.agent import Agent, Feed, Phase
from edge_agent.consent.policy import Policy
from edge_agent.state.state import State
from fsir.limits import LIMITS
from fsir.privacy.plan import first_stage
from fsir.wire.messages import Classifier, topic
from tests.edge_agent.world import (
    DEVICE,
    Welcome,
    active,
    data,
    receipt,
    reports,
    simulated,
    subspace,
)
from tests.fsir.tasks import screened, table, task


def lives_on(agent: Agent, honest) -> None:
    """After whatever happened the agent takes the honest task and reports."""
    agent.receive(topic(honest.name, "task"), honest.encode())
    assert agent.phase is Phase.LEARNING
    agent.learn_many(*data(honest, 100))
    assert len(reports(agent.outgoing(1.0))) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"privacy": {"epsilon": 19.0}}, "epsilon 19"),
        ({"privacy": {"epsilon": 2.1}}, "epsilon 2.1"),
        ({"privacy": {"epsilon": 1.0, "delta": 0.01}}, "epsilon"),
        ({"privacy": {"mechanism": "vgm"}}, "not proven"),
        ({"privacy": {"mechanism": "none"}}, "not proven"),
        ({"clip": {"truncate": 1e6, "norm": 1e6}}, "clips at"),
    ],
)
def test_a_task_that_the_owner_would_not_want_is_refused(changes, reason, caplog):
    bad = task(**changes)
    agent = simulated(bad)
    assert agent.phase is Phase.WAITING
    assert reason in agent.reason
    assert reason in caplog.text
    assert agent.state.notes()["test"] == agent.reason
    assert agent.learn_many(np.zeros((200, bad.p)), ["a"] * 200) == 0
    assert agent.outgoing(1e6) == []
    lives_on(agent, task())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"privacy": {"epsilon": 100.0}}, "epsilon"),
        ({"clip": {"truncate": 1e9, "norm": 1e9}}, "clip"),
        ({"clip": {"truncate": 1.0, "norm": 1e9}}, "clip"),
        (
            {"features": {"names": [f"x{j}" for j in range(3000)]}, "clip": {"norm": 10.0}},
            "screen first",
        ),
        ({"response": {"classes": ["a"]}}, "classes"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_task_that_no_one_could_make_is_refused(changes, reason, caplog):
    """No `Task` can hold it, so a hostile server has to write the bytes by hand."""
    raw = msgpack.packb(dict(sorted(table(**changes).items())))
    agent = Welcome(State(None, DEVICE, simulated=True), "test", simulated=True, quiet_seconds=0.0)
    agent.connected(0.0)
    agent.receive(topic("test", "task"), raw)
    assert agent.phase is Phase.WAITING
    assert reason in caplog.text
    lives_on(agent, task())


def test_features_that_the_owner_never_shares(caplog):
    agent = simulated(task(), policy=Policy(never_share=("x1",)))
    assert agent.phase is Phase.WAITING
    assert "never shares: x1" in agent.reason


def test_a_response_that_the_owner_never_shares():
    agent = simulated(task(response={"name": "heart_rate"}), policy=Policy(never_share=("heart*",)))
    assert agent.phase is Phase.WAITING
    assert "never shares: heart_rate" in agent.reason


def test_a_deadline_would_tell_the_number_of_records_without_noise():
    dated = task(report={"records": 5000, "deadline": 2_000_000_000})
    assert "exact_count = true" in simulated(dated).reason
    assert simulated(dated, policy=Policy(exact_count=True)).phase is Phase.LEARNING


def test_a_task_that_protects_less_than_one_reading_touches():
    windows = Feed("iio:mpu6050", replayable=False, unit_records=2)
    assert "unit_records = 2" in simulated(task(), feed=windows).reason
    assert simulated(task(privacy={"unit_records": 2}), feed=windows).phase is Phase.LEARNING


def test_a_second_task_over_the_same_data_beyond_the_cap():
    one = task(privacy={"epsilon": 1.5})
    two = task(name="second", privacy={"epsilon": 1.5})
    state = State(None, DEVICE, simulated=True)
    first = simulated(one, state=state, policy=Policy(hold=False))
    first.learn_many(*data(one, 100))
    assert reports(first.outgoing(1.0))
    second = simulated(two, state=state)
    assert second.phase is Phase.WAITING
    assert "of which 1.5 is spent" in second.reason
    assert len(state.ledger()) == 1


def test_two_tasks_at_once_share_the_cap_although_neither_has_reported():
    state = State(None, DEVICE, simulated=True)
    first = simulated(task(privacy={"epsilon": 1.5}), state=state)
    second = simulated(task(name="second", privacy={"epsilon": 1.5}), state=state)
    assert (first.phase, second.phase) == (Phase.LEARNING, Phase.WAITING)


def test_a_second_task_within_the_cap_is_welcome():
    state = State(None, DEVICE, simulated=True)
    for name in ("one", "two", "three"):
        small = task(name=name, privacy={"epsilon": 0.8})
        agent = simulated(small, state=state)
        agent.learn_many(*data(small, 100))
        assert len(reports(agent.outgoing(1.0))) == 1


def test_a_changed_task_under_the_same_name(caplog):
    honest = task()
    agent = simulated(honest)
    for changed in (task(report={"records": 1}), task(epoch=2), task(privacy={"epsilon": 1.9})):
        agent.receive(topic("test", "task"), changed.encode())
        assert agent.task == honest
    assert "the task has changed" in caplog.text
    lives_on(agent, honest)


@pytest.mark.parametrize(
    ("features", "reason"),
    [
        (("x1", "heart_rate"), "not features of the task"),
        (("x0", "x1", "x2", "x3", "x4"), "the task allows 4"),
        (("x4", "x1"), "order of the task"),
        ((), "at least one"),
    ],
)
def test_an_active_set_that_the_task_does_not_allow(features, reason, caplog):
    two = screened()
    agent = simulated(two)
    agent.receive(*active(two, *features))
    assert agent.active is None
    assert reason in caplog.text
    agent.receive(*active(two, "x0", "x1"))
    assert agent.active == ("x0", "x1")


def test_an_active_set_for_a_task_without_screening(caplog):
    plain = task()
    agent = simulated(plain)
    agent.receive(*active(plain, "x0"))
    assert "does not screen" in caplog.text
    lives_on(agent, plain)


def test_messages_of_another_task_or_device(caplog):
    honest = task()
    other = task(epoch=2)
    agent = simulated(honest)
    agent.receive(*subspace(other, other.features.names))
    agent.learn_many(*data(honest, 100))
    sent = agent.outgoing(1.0)
    about, raw = receipt(honest, sent)
    agent.receive(about, raw.replace(DEVICE.encode(), b"dev-2"))
    agent.receive(topic("test", "receipt", "dev-2"), raw)
    assert agent.pending == 1
    assert not agent.serving
    assert caplog.text.count("refused what came") == 2


SUBSPACES = {
    "another number of features": lambda honest: subspace(honest, ("x0", "x1")),
    "features that the task does not have": lambda honest: subspace(honest, ("x0", "x1", "y9")),
    "another dimension": lambda honest: subspace(honest, honest.features.names, d=2),
    "NaN": lambda honest: subspace(honest, honest.features.names, basis=np.full((3, 1), np.nan)),
    "infinity": lambda honest: subspace(
        honest, honest.features.names, basis=np.full((3, 1), np.inf)
    ),
    "a shape that does not fit": lambda honest: subspace(
        honest, honest.features.names, basis=np.eye(2)
    ),
    "a negative noise level": lambda honest: subspace(
        honest, honest.features.names, noise_level=-1.0
    ),
    "classes that the task does not have": lambda honest: subspace(
        honest,
        honest.features.names,
        classifier=Classifier(("z",), np.ones((1, 1)), np.ones(1), np.ones((1, 1))),
    ),
    "500 MB": lambda honest: (topic("test", "subspace"), bytes(500 * 2**20)),
    "not msgpack": lambda honest: (topic("test", "subspace"), b"\xc1garbage"),
    "deep nesting": lambda honest: (topic("test", "subspace"), b"\x91" * 10**6),
    "a huge array that is announced only": lambda honest: (
        topic("test", "subspace"),
        b"\xdd\xff\xff\xff\xff",
    ),
}


@pytest.mark.parametrize("lie", SUBSPACES)
def test_a_subspace_that_does_not_fit(lie, caplog):
    honest = task(dimension=1)
    agent = simulated(honest)
    agent.receive(*SUBSPACES[lie](honest))
    assert not agent.serving
    assert "refused what came" in caplog.text
    agent.receive(*subspace(honest, honest.features.names))
    assert agent.serving
    lives_on(agent, honest)


def test_a_subspace_over_other_features_than_the_accepted_active_set(caplog):
    two = screened()
    agent = simulated(two)
    agent.receive(*active(two, "x1", "x4"))
    agent.receive(*subspace(two, ("x1", "x5")))
    assert not agent.serving
    assert "active set that this device has accepted" in caplog.text


def test_sizes_are_checked_before_anything_is_read():
    honest = task()
    agent = simulated(honest)
    for kind in ("task", "active", "subspace"):
        agent.receive(topic("test", kind), bytes(LIMITS[kind] + 1))
    agent.receive(topic("test", "receipt", DEVICE), bytes(LIMITS["receipt"] + 1))
    lives_on(agent, honest)


def test_the_cost_is_computed_on_the_device_from_the_pinned_task():
    honest = task()
    agent = simulated(honest)
    agent.learn_many(*data(honest, 100))
    agent.outgoing(1.0)
    (row,) = agent.state.ledger()
    assert row.mu == first_stage(honest).mu
    assert math.isfinite(row.mu)


def test_a_task_published_under_another_name(caplog):
    agent = Agent(State(None, DEVICE, simulated=True), "test", simulated=True)
    agent.receive(topic("test", "task"), task(name="other").encode())
    assert agent.phase is Phase.WAITING
    assert "published under the name" in caplog.text


def test_an_owner_who_tightens_the_policy_stops_what_was_accepted():
    honest = task()
    agent = simulated(honest)
    agent.learn_many(*data(honest, 100))
    agent.outgoing(0.0)
    strict = Agent(agent.state, "test", Policy(epsilon=0.5), simulated=True, quiet_seconds=0.0)
    strict.connected(0.0)
    assert strict.phase is Phase.STOPPED
    assert strict.outgoing(1e6) == []


def test_a_report_beyond_the_cap_is_not_made_even_if_the_task_was_accepted():
    """The last gate: the check at the moment of spending, with the ledger as it is then."""
    honest = task()
    state = State(None, DEVICE, simulated=True)
    agent = simulated(honest, state=state)
    agent.learn_many(*data(honest, 100))
    spent = simulated(
        task(name="other", privacy={"epsilon": 1.9}),
        state=State(None, DEVICE, simulated=True),
        policy=Policy(hold=False),
    )
    spent.learn_many(*data(honest, 100))
    spent.outgoing(1.0)
    (row,) = spent.state.ledger()
    (out,) = spent.state.outbox()
    state.record_report(row, out, state.progress("other"), drop_kept=False)
    assert agent.outgoing(1.0) == []
    assert agent.phase is Phase.STOPPED
    assert "cap" in agent.reason
    assert len(state.ledger()) == 1
