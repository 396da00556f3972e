"""Records in the coordinates of the federation's prior, and recognition that uses them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgpack
import numpy as np
import pytest

from edge_agent.recognition.personal import Personal
from edge_agent.recognition.tasks import Recognition
from edge_agent.recognition.whitened import LEAST_SHARE, Whitener, identity_of, prior_of, whitens
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.wire.decode import decode
from fsir.wire.messages import Classifier, Subspace, encode
from tests.edge_agent.world import DEVICE, subspace
from tests.fsir.tasks import mapped, task

SHARES = np.array([0.6, 0.3, 0.1])


def published(of, version: int = 1, **changes: Any) -> Subspace:
    """A subspace with a linear discriminant in whitened coordinates of the public map."""
    q = of.public.coordinates
    rng = np.random.default_rng(3)
    whitening = rng.normal(size=(q, q))
    centres = rng.normal(scale=2.0, size=(3, q))
    basis = of.public.matrix(of.p) @ whitening
    classifier = Classifier(
        classes=of.response.classes,
        weights=centres,
        bias=np.log(SHARES) - 0.5 * (centres**2).sum(axis=1),
        centroids=centres,
        basis=basis,
        whitening=whitening,
        centres=centres,
    )
    changed = replace(classifier, **changes)
    raw = subspace(of, of.features.names, 1, version=version, classifier=changed)[1]
    return decode(raw, Subspace)


@pytest.fixture
def of():
    scaled = {"centre": [1.0, -2.0, 0.0, 0.0, 5.0, 0.0], "scale": [2.0, 1.0, 1.0, 0.5, 3.0, 1.0]}
    return mapped(6, 3, features=scaled)


def standard(of, row: np.ndarray) -> np.ndarray:
    """As the device treats a record before it maps it."""
    scaled = (row - np.array(of.features.centre)) / np.array(of.features.scale)
    return np.clip(scaled, -of.clip.truncate, of.clip.truncate)


def record_of(of, k: int, row: np.ndarray, label: str | None) -> Record:
    return Record(Position(k), dict(zip(of.features.names, row.tolist(), strict=True)), label)


def test_coordinates_are_those_of_the_formula_and_the_rule_is_the_federations(of):
    message = published(of)
    whitener = Whitener.of(of, message)
    classifier = message.classifier
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(prior_of(classifier).shares, SHARES)
    for row in rng.normal(scale=3.0, size=(200, 6)):
        x = standard(of, row)
        v = np.frombuffer(whitener.coordinates(record_of(of, 0, row, None).x), "<f4")
        expected = classifier.whitening.T @ of.public.matrix(6).T @ x
        np.testing.assert_allclose(v, expected, rtol=1e-5, atol=1e-5)
        # What `Personal` starts from is what the linear scores say.
        scores = classifier.weights @ (classifier.basis.T @ x) + classifier.bias
        rule = np.log(SHARES) - 0.5 * ((v - classifier.centres) ** 2).sum(axis=1)
        np.testing.assert_allclose(scores - scores[0], rule - rule[0], rtol=1e-3, atol=1e-3)


def test_other_tasks_have_no_such_coordinates(of):
    plain = task(6)
    assert not whitens(plain, decode(subspace(plain, plain.features.names)[1], Subspace))
    assert not whitens(of, published(of, whitening=None, centres=None))
    assert not whitens(of, published(of, whitening=np.eye(2), centres=np.zeros((3, 2))))
    assert not whitens(of, published(of, classes=("c", "b", "a")))
    assert whitens(of, published(of))


def test_a_class_that_is_rare_elsewhere_is_not_ruled_out_here(of):
    bias = np.array([0.0, 0.0, -1e6])
    assert prior_of(published(of, bias=bias).classifier).shares.min() > 0.9 * LEAST_SHARE


def test_an_absurd_matrix_does_no_harm(of):
    message = published(of, whitening=np.full((3, 3), 1e300))
    v = np.frombuffer(
        Whitener.of(of, message).coordinates(record_of(of, 0, np.full(6, 1e200), None).x), "<f4"
    )
    assert np.isfinite(v).all()
    assert all(map(np.isfinite, Personal(prior_of(message.classifier)).scores(v).values()))


def test_the_identity_changes_with_what_the_numbers_mean(of):
    names = {
        identity_of(published(of)),
        identity_of(published(of, version=2)),
        identity_of(published(of, centres=np.zeros((3, 3)))),
        identity_of(published(of, whitening=np.eye(3))),
    }
    assert len(names) == 4
    assert identity_of(decode(encode(published(of)), Subspace)) in names


# --- as part of the agent -------------------------------------------------------------------------


def serving(of, message: Subspace) -> Any:
    """What recognition asks of an agent that serves with this subspace."""

    def serve(record: Record) -> dict[str, Any]:
        row = np.array([record.x[name] for name in of.features.names])
        classifier = message.classifier
        z = classifier.basis.T @ standard(of, row)
        label = classifier.classes[int(np.argmax(classifier.weights @ z + classifier.bias))]
        return {"record": record.position.ordinal, "z": [z[0]], "class": label, "confidence": 0.5}

    return SimpleNamespace(
        name=of.name,
        task=of,
        feed=SimpleNamespace(name="test"),
        projection=SimpleNamespace(subspace=message),
        serve=serve,
    )


def test_labels_teach_the_personal_classifier_and_a_restart_goes_on(of, tmp_path):
    """An owner whose classes all lie elsewhere, with a power cut in the middle."""
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 3, 600)
    # Feature 0 tells the class to whoever has labels; where it lies is new to the federation.
    rows = 0.3 * rng.normal(size=(600, 6)) + np.array(of.features.centre)
    rows[:, 0] += 2.5 * (classes - 1)
    labels = [of.response.classes[h] for h in classes]
    records = [
        record_of(of, k, row, label)
        for k, (row, label) in enumerate(zip(rows, labels, strict=True))
    ]
    for part in (records[:300], records[300:]):
        with contextlib.closing(State(tmp_path, DEVICE, simulated=True)) as state:
            agent = serving(of, published(of))
            recognition = Recognition(state, [agent])
            served = []
            for record in part:
                served.append(recognition.serve(agent, record))
                recognition.learn(record)
            recognition.checkpoint(leaving=True)
            table = msgpack.unpackb(state.recognition(of.name))
    assert table["now"]["labelled"] == 600
    assert np.frombuffer(table["personal"]["counts"], "<f4").sum() == 600
    assert not any(table["pairs"].values())  # records themselves are not kept
    accuracy = table["now"]["recent"]["accuracy"]
    assert accuracy["device"] > accuracy["federation"] + 0.1
    assert accuracy["said"] > accuracy["federation"] + 0.1
    assert served[-1]["by"] == "device"


def owners(of, n: int, start: int = 0, seed: int = 1) -> list[Record]:
    """Records of an owner whose classes lie apart in feature 0."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n)
    rows = 0.3 * rng.normal(size=(n, 6)) + np.array(of.features.centre)
    rows[:, 0] += 2.5 * (classes - 1)
    return [
        record_of(of, start + k, row, of.response.classes[h])
        for k, (row, h) in enumerate(zip(rows, classes, strict=True))
    ]


def turned(of, version: int, Q: np.ndarray, **changes: Any) -> Subspace:
    """A version that says the same in coordinates turned by Q."""
    classifier = published(of).classifier
    return published(
        of,
        version,
        whitening=classifier.whitening @ Q,
        centres=classifier.centres @ Q,
        weights=classifier.weights @ Q,
        centroids=classifier.centroids @ Q,
        basis=classifier.basis @ Q,
        **changes,
    )


def lives(of, state: State, versions: list[Subspace], records: list[Record]) -> list[Any]:
    """As many records under each version, each with a power cut before it, and all learned."""
    served = []
    part = len(records) // len(versions)
    for k, message in enumerate(versions):
        agent = serving(of, message)
        recognition = Recognition(state, [agent])
        for record in records[k * part : (k + 1) * part]:
            served.append(recognition.serve(agent, record))
            recognition.learn(record)
        recognition.checkpoint(leaving=True)
    return served


def test_whitened_coordinates_may_turn_with_every_version_and_nothing_is_lost(of):
    """Whatever the subspace itself shows: the classifier of the owner does not look at it."""
    records = owners(of, 600)
    rng = np.random.default_rng(0)
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(20)]
    versions = [turned(of, 1 + k, Q) for k, Q in enumerate(turns)]
    found = []
    for each in ([turned(of, 1, turns[0])] * 20, versions):
        state = State(None, DEVICE, simulated=True)
        served = lives(of, state, each, records)
        found.append((served, msgpack.unpackb(state.recognition(of.name))))
    (plain, once), (under_versions, many) = found
    assert [line["answer"] for line in under_versions] == [line["answer"] for line in plain]
    assert [line["by"] for line in under_versions] == [line["by"] for line in plain]
    for one, other in zip(plain, under_versions, strict=True):
        assert other["confidence"] == pytest.approx(one["confidence"], abs=1e-4)
    assert many["personal"]["counts"] == once["personal"]["counts"]
    assert (many["guard"], many["scores"], many["past"]) == (once["guard"], once["scores"], [])


def test_a_new_prior_is_taken_up_with_what_was_learned(of):
    """Other centres and another spread: nearly as if all had been learned under these."""
    records = owners(of, 300)
    rng = np.random.default_rng(5)
    old = published(of).classifier
    whitening = old.whitening @ (np.eye(3) + 0.05 * rng.normal(size=(3, 3)))
    centres = old.centres + 0.3 * rng.normal(size=(3, 3))
    newer = published(of, 2, whitening=whitening, centres=centres)
    tested = owners(of, 200, start=300, seed=2)
    answers = []
    for before in (published(of), newer):
        state = State(None, DEVICE, simulated=True)
        lives(of, state, [before], records)
        answers.append([line["answer"] for line in lives(of, state, [newer], tested)])
    same = [one == other for one, other in zip(*answers, strict=True)]
    assert np.mean(same) > 0.97


def test_a_version_that_says_nothing_about_classes_leaves_the_classifier_as_it_is(of):
    """Its answers are those of a twin who stays with the version before."""
    tested = owners(of, 200, start=300, seed=2)
    twin = State(None, DEVICE, simulated=True)
    state = State(None, DEVICE, simulated=True)
    for each in (twin, state):
        lives(of, each, [published(of)], owners(of, 300))
    agent = serving(of, published(of))
    of_twin = Recognition(twin, [agent])
    expected = [of_twin.serve(agent, record) for record in tested]
    agent = serving(of, replace(published(of, 2), classifier=None))
    agent.serve = lambda record: {"record": record.position.ordinal, "z": [record.x["x0"]]}
    recognition = Recognition(state, [agent])
    served = [recognition.serve(agent, record) for record in tested]
    assert {line["by"] for line in served} == {"device"}
    pairs = list(zip(served, expected, strict=True))
    by_device = [
        one["answer"] == other["answer"] for one, other in pairs if other["by"] == "device"
    ]
    assert len(by_device) > 100
    assert all(by_device)
    recognition.checkpoint(leaving=True)
    lives(of, state, [published(of, 3)], tested)
    table = msgpack.unpackb(state.recognition(of.name))
    assert np.frombuffer(table["personal"]["counts"], "<f4").sum() == 500


def test_a_matrix_without_an_inverse_starts_anew(of):
    state = State(None, DEVICE, simulated=True)
    absurd = published(of, 2, whitening=np.full((3, 3), 1e300))
    with np.errstate(all="ignore"):
        lives(of, state, [published(of), absurd, published(of, 3)], owners(of, 90))
    table = msgpack.unpackb(state.recognition(of.name))
    assert np.frombuffer(table["personal"]["counts"], "<f4").sum() == 30
    assert [one["labelled"] for one in table["past"]] == [30, 30]
