"""FSIR as a River transformer with a federation behind it."""

from __future__ import annotations

import copy

import msgpack
import numpy as np
import pytest

pytest.importorskip("river", reason="NOT TESTED: the extra [river] is not installed")

from river import compose, linear_model, preprocessing

from edge_agent.errors import StateError
from edge_agent.member import Member
from edge_agent.river.transformer import FSIR
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.wire.messages import topic
from tests.fsir.tasks import mapped, task


@pytest.fixture
def offline(tmp_path):
    with Member("mqtt://127.0.0.1:9", "test", "dev-1", tmp_path) as member:
        yield member


RECORD = {"x0": 1.0, "x1": 0.0, "x2": 0.0}


@pytest.fixture
def offered(offline, monkeypatch):
    """The records that reach the member of a federation."""
    records = []
    learn = offline.learn

    def spy(x, y):
        records.append((x, y))
        learn(x, y)

    monkeypatch.setattr(offline, "learn", spy)
    return records


def put_in_later(member):
    model = FSIR()
    model.member = member
    return model


@pytest.mark.parametrize(
    "build",
    [
        lambda member: FSIR(member=member),
        lambda member: FSIR(member=member) | linear_model.SoftmaxRegression(),
        lambda member: preprocessing.StandardScaler() | FSIR(member=member),
        lambda member: compose.FuncTransformer(lambda x: x) | FSIR(member=member, warm_up=5),
        lambda member: preprocessing.StandardScaler() | put_in_later(member),
    ],
)
def test_nothing_is_learned_into_a_federation_without_the_statement(offline, offered, build):
    """Whether what stands before FSIR mixes records, nobody can tell from the numbers."""
    with pytest.raises(StateError, match=r"raw features only.* into the task.*raw_features=True"):
        build(offline).learn_one(RECORD, "a")
    assert offered == []


def test_no_mini_batch_is_learned_into_a_federation_without_the_statement(offline, offered):
    pd = pytest.importorskip("pandas")
    with pytest.raises(StateError, match="raw features only"):
        put_in_later(offline).learn_many(pd.DataFrame([RECORD]), pd.Series(["a"]))
    assert offered == []


def test_raw_pipelines_are_welcome_in_a_federation(offline, offered):
    """What stands behind FSIR may learn, and what looks at one record alone may stand before it."""
    for model in (
        federated(offline) | preprocessing.StandardScaler() | linear_model.SoftmaxRegression(),
        compose.Select("x0", "x1") | federated(offline),
        federated(offline),
    ):
        model.learn_one(RECORD, "a")
    assert offered == [(RECORD, "a"), ({"x0": 1.0, "x1": 0.0}, "a"), (RECORD, "a")]


def federated(member):
    return FSIR(member=member, raw_features=True)


def test_under_a_public_map_it_learns_what_the_accumulators_learn(offline):
    of = mapped(6, 3)
    offline.agent.receive(topic("test", "task"), of.encode())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = rng.choice(["a", "b", "c", "not a class"], 60).tolist()
    model = federated(offline)
    for row, label in zip(X.tolist(), y, strict=True):
        model.learn_one(dict(zip(of.features.names, row, strict=True)), label)
    learned = Moments(of, first_stage(of))
    learned.learn_many(X, y)
    assert offline.agent.n == 60
    offline.agent.checkpoint()
    stored = msgpack.unpackb(offline.agent.state.progress("test").learned)
    assert stored.pop("watch")["rows"] == learned.n - sum(learned.refused.values())
    assert stored == learned.state()


def test_what_is_learned_before_the_task_has_come_is_not_lost(offline):
    model = federated(offline) | linear_model.SoftmaxRegression()
    for k in range(30):
        x = dict.fromkeys(("x0", "x1", "x2"), 0.1 * k)
        model.predict_one(x)
        model.learn_one(x, "abc"[k % 3])
    assert (offline.waiting, offline.agent.n) == (30, 0)
    offline.agent.receive(topic("test", "task"), task().encode())
    model.predict_one(x)
    assert (offline.waiting, offline.agent.n) == (0, 30)


def test_a_federated_transformer_cannot_be_copied(offline):
    model = federated(offline)
    for spend_twice in (model.clone, lambda: copy.deepcopy(model)):
        with pytest.raises(StateError, match="spend its budget twice"):
            spend_twice()
