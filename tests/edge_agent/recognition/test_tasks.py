"""Recognition as part of the agent: over kills, restarts, new versions, and what status tells."""

from __future__ import annotations

import contextlib
import json

import msgpack
import numpy as np
import pytest

from edge_agent.cli import main
from edge_agent.recognition.recogniser import Recogniser
from edge_agent.recognition.tasks import Recognition
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.estimate.subspace import estimate
from fsir.wire.messages import Classifier, encode, topic
from tests.edge_agent.recognition.people import CENTRES, CLASSES, feed, nearest, stream
from tests.edge_agent.world import DEVICE as NAME
from tests.edge_agent.world import data, receipt, simulated, subspace
from tests.fsir.estimate.public.worlds import World
from tests.fsir.tasks import task


def published(of, version=1, flip=1.0):
    """A subspace of two directions with a classifier that puts the classes at CENTRES."""
    centroids = np.array([CENTRES[label] for label in CLASSES])
    heights = -0.5 * (centroids**2).sum(axis=1)
    classifier = Classifier(CLASSES, centroids, heights, centroids)
    basis = flip * np.eye(3)[:, :2]
    return subspace(of, of.features.names, 2, version=version, basis=basis, classifier=classifier)


def serving(of, state, **changes):
    """An agent that has reported and has a subspace."""
    agent = simulated(of, state=state)
    if agent.wants_records:
        agent.learn_many(*data(of, 100))
        agent.receive(*receipt(of, agent.outgoing(1.0)))
        agent.receive(*published(of, **changes))
    return agent


def record_of(k: int, z, label) -> Record:
    return Record(Position(1000 + k), {"x0": z[0], "x1": z[1], "x2": 0.0}, label)


def lived(n: int) -> list[Record]:
    """Records of an owner, with labels."""
    return [record_of(k, z, label) for k, (z, label) in enumerate(stream(n))]


@pytest.fixture
def of():
    return task(clip={"truncate": 9.0, "norm": 9.0})


def test_served_lines_say_what_and_who(of):
    state = State(None, NAME, simulated=True)
    agent = serving(of, state)
    plain = agent.serve(record_of(0, (3.0, 0.0), None))
    records = lived(300)
    served = feed(agent, Recognition(state, [agent]), records)
    assert set(served[0]) == {*plain, "activity", "by"}
    assert served[0]["by"] == "federation"
    assert served[0]["answer"] == served[0]["class"]
    assert all(line["activity"] == line["answer"] for line in served)  # its name in version 0.1
    assert plain["answer"] == plain["class"]  # the same key without recognition
    labels = [label for _, label in stream(300)]
    right = [line["answer"] == label for line, label in zip(served, labels, strict=True)]
    assert sum(right) > 280
    assert agent.outgoing(1e6) == []  # nothing of it is for the broker


@pytest.mark.parametrize("lag", [0, 7])
def test_whatever_is_killed_and_read_again_nothing_is_learned_twice(of, tmp_path, lag):
    """Power cuts at random, now and then a checkpoint, and a file that is read again."""
    records = lived(240)
    rng = np.random.default_rng(lag)
    start = 0
    for _ in range(20):
        with contextlib.closing(State(tmp_path, NAME, simulated=True)) as state:
            agent = serving(of, state)
            recognition = Recognition(state, [agent])
            waiting = []
            for record in records[start : start + int(rng.integers(1, 120))]:
                recognition.serve(agent, record)
                waiting.append(record)
                if len(waiting) > lag:
                    recognition.learn(waiting.pop(0))
                if rng.random() < 0.1:
                    recognition.checkpoint(leaving=bool(rng.random() < 0.5))
    with contextlib.closing(State(tmp_path, NAME, simulated=True)) as state:
        agent = serving(of, state)
        recognition = Recognition(state, [agent])
        feed(agent, recognition, records, lag)
        recognition.checkpoint()
        saved = msgpack.unpackb(state.recognition("test"))
    once = Recogniser(CLASSES)
    for z, label in stream(240):
        once.learn(once.answer(z, nearest(z), 0.0), label)
    assert saved["now"]["labelled"] == 240
    assert saved["scores"]["labels"] == dict(once.scores.labels)
    assert saved["pairs"] == {
        label: [list(z) for z in kept] for label, kept in once.table()["pairs"].items()
    }
    assert saved["scores"]["right"]["federation"] == once.scores.right["federation"]


def test_a_sensor_numbers_on_behind_what_recognition_has_seen(of, tmp_path):
    with contextlib.closing(State(tmp_path, NAME, simulated=True)) as state:
        agent = serving(of, state)
        recognition = Recognition(state, [agent])
        feed(agent, recognition, lived(5))
        recognition.checkpoint()
        assert state.last_position(agent.feed.name).ordinal == 1004
        # The task itself has not moved.
        assert state.position(agent.name, agent.feed.name).ordinal == 99


def test_records_without_a_label_are_recognised_and_not_learned(of):
    state = State(None, NAME, simulated=True)
    agent = serving(of, state)
    recognition = Recognition(state, [agent])
    labels = ["", None, "flying", "a"]
    feed(agent, recognition, [record_of(k, (0.0, 0.0), label) for k, label in enumerate(labels)])
    recognition.checkpoint()
    assert msgpack.unpackb(state.recognition("test"))["now"]["labelled"] == 1


def test_a_new_version_in_the_middle_of_the_wait(of):
    """What was measured under the old version is learned under the new one, which has turned."""
    state = State(None, NAME, simulated=True)
    agent = serving(of, state)
    recognition = Recognition(state, [agent])
    records = lived(40)
    for record in records[:20]:
        recognition.serve(agent, record)
    agent.receive(*published(of, version=2, flip=-1.0))
    for record in records[20:]:
        recognition.serve(agent, record)
    for record in records:
        recognition.learn(record)
    recognition.checkpoint()
    saved = msgpack.unpackb(state.recognition("test"))
    assert (saved["now"]["version"], saved["now"]["labelled"]) == (2, 40)
    kept = [tuple(z) for pairs in saved["pairs"].values() for z in pairs]
    np.testing.assert_allclose(sorted(kept), sorted(z for z, _ in stream(40)))


def test_a_numeric_task_is_served_as_ever():
    of = task(response={"classes": None, "cuts": [0.0, 1.0]})
    state = State(None, NAME, simulated=True)
    agent = simulated(of, state=state)
    agent.learn_many(np.random.default_rng(0).normal(size=(100, 3)), list(range(100)))
    agent.receive(*receipt(of, agent.outgoing(1.0)))
    agent.receive(*subspace(of, of.features.names))
    record = record_of(0, (1.0, 2.0), 0.5)
    assert Recognition(state, [agent]).serve(agent, record) == agent.serve(record)


def test_a_sensor_gone_mad_does_not_stop_the_agent(of):
    state = State(None, NAME, simulated=True)
    agent = serving(of, state)
    recognition = Recognition(state, [agent])
    wild = [1e300, -1e300, 0.0, 1e9, float("nan"), float("inf"), "x", None]
    records = [record_of(k, (wild[k % 8], wild[(k * 3) % 8]), "a") for k in range(400)]
    with np.errstate(all="ignore"):
        served = feed(agent, recognition, records)
    assert any(line is not None for line in served)
    recognition.checkpoint()


def test_status_tells_and_forget_deletes(of, tmp_path, capsys):
    with contextlib.closing(State(tmp_path, NAME, simulated=True)) as state:
        agent = serving(of, state)
        recognition = Recognition(state, [agent])
        feed(agent, recognition, lived(600))
        moved = [(z[0] + 30.0, z[1]) for z, _ in stream(300)]
        far = [record_of(600 + k, z, None) for k, z in enumerate(moved)]
        served = feed(agent, recognition, far)
        assert [line["drift"] for line in served if "drift" in line] == ["distance"]
        recognition.checkpoint()
    assert main(["status", "--state", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "600 labelled records recognised" in said
    assert "no longer fits this device since" in said
    main(["status", "--json", "--state", str(tmp_path)])
    (told,) = json.loads(capsys.readouterr().out)["tasks"]
    assert told["recognition"]["accuracy"]["said"] > 0.95
    assert told["recognition"]["accuracy"]["majority"] < 0.5
    assert told["recognition"]["drift"]["what"] == "distance"
    (tmp_path / "labels.jsonl").write_text("")
    assert main(["forget", "--state", str(tmp_path)]) == 0
    assert not (tmp_path / "labels.jsonl").exists()
    capsys.readouterr()
    main(["status", "--json", "--state", str(tmp_path)])
    assert json.loads(capsys.readouterr().out)["tasks"][0]["recognition"] is None


@pytest.mark.parametrize("strange", [0.0, 1.2])
def test_under_a_real_public_map_an_owner_with_labels_is_recognised_better(strange):
    world = World(strange=0.4)
    public = world.task(devices=20, records=100, epsilon=2.0)
    state = State(None, NAME, simulated=True)
    agent = simulated(public, state=state)
    X, slices = world.records(100, world.people)
    agent.learn_many(X, slices.astype(str).tolist())
    agent.receive(*receipt(public, agent.outgoing(1.0)))
    found = estimate(public, world.totals(public, 20, records=100))
    agent.receive(topic(public.name, "subspace"), encode(found))
    owner = world.people + strange * np.random.default_rng(9).normal(size=world.people.shape)
    X, slices = world.records(600, owner)
    names = public.features.names
    rows = [
        Record(Position(1000 + k), dict(zip(names, row, strict=True)), str(h))
        for k, (row, h) in enumerate(zip(X.tolist(), slices, strict=True))
    ]
    served = feed(agent, Recognition(state, [agent]), rows)
    right = np.array(
        [line.get("activity") == row.y for line, row in zip(served, rows, strict=True)]
    )
    alone = np.array([line.get("class") == row.y for line, row in zip(served, rows, strict=True)])
    assert right[300:].mean() >= alone[300:].mean() - 0.01
    if strange:
        assert right[300:].mean() > alone[300:].mean() + 0.03
        assert any(line.get("by") == "device" for line in served)
