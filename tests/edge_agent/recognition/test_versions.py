"""Version after version: what the device has learned about its owner goes on where it can."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from edge_agent.recognition.tasks import Recognition
from edge_agent.state.state import State
from tests.edge_agent.recognition.people import feed
from tests.edge_agent.recognition.versions import (
    AXES,
    TRUTH,
    P,
    lived,
    published,
    right,
    running,
    saved,
    task_of_versions,
    turned,
    unlabelled,
    wobbled,
)
from tests.edge_agent.world import DEVICE, receipt, simulated, subspace
from tests.fsir.tasks import task


@pytest.fixture
def of():
    return task_of_versions()


# --- the same space by other numbers --------------------------------------------------------------


@pytest.mark.parametrize("classifies", [True, False])
def test_versions_that_only_turn_change_no_answer_and_no_verdict(of, classifies):
    """The sensor is moved at the end: the same alarm at the same record."""
    still = lived(900)
    moved = unlabelled(lived(600, seed=1, start=900, shift=4.0))
    lives = []
    for turns in (False, True):
        with running(of, None, published(of, 1, AXES, classifies)) as (agent, recognition, state):
            served = []
            for k in range(0, 1500, 60):
                if turns and k:
                    agent.receive(*published(of, 1 + k, AXES @ turned(k), classifies))
                served += feed(agent, recognition, (still + moved)[k : k + 60])
            recognition.checkpoint()
            lives.append((served, saved(state)))
    (plain, once), (under_versions, many) = lives
    for one, other in zip(plain, under_versions, strict=True):
        assert other.get("answer") == one.get("answer")
        assert other.get("by") == one.get("by")
        assert other.get("confidence", 0.0) == pytest.approx(one.get("confidence", 0.0), abs=2e-6)
    assert once["now"]["drift"]["what"] == "distance"
    assert many["now"]["drift"]["record"] == once["now"]["drift"]["record"]
    assert many["scores"] == once["scores"]
    assert many["fit"]["distances"] == once["fit"]["distances"]
    assert (once["now"]["version"], many["now"]["version"]) == (1, 1441)
    assert many["past"] == []


def test_who_was_told_of_drift_is_told_again_under_the_next_version(of):
    with running(of, None, published(of, 1, AXES)) as (agent, recognition, _):
        feed(agent, recognition, lived(900))
        served = feed(agent, recognition, lived(600, seed=1, start=900, shift=4.0))
        agent.receive(*published(of, 2, AXES @ turned(2)))
        served += feed(agent, recognition, lived(20, seed=2, start=1500, shift=4.0))
    told = [(line["version"], line["drift"]) for line in served if "drift" in line]
    assert [version for version, _ in told] == [1, 2]
    assert told[0][1] == told[1][1]


def test_labels_that_are_on_their_way_arrive(of):
    with running(of, None, published(of, 1, AXES, False)) as (agent, recognition, state):
        records = lived(120)
        for k, record in enumerate(records):
            if k % 20 == 10:
                agent.receive(*published(of, 1 + k, AXES @ turned(k), False))
            recognition.serve(agent, record)
            if k >= 30:
                recognition.learn(records[k - 30])
        recognition.checkpoint()
        assert saved(state)["now"]["labelled"] == 90
        kept = [tuple(z) for pairs in saved(state)["pairs"].values() for z in pairs]
    true = [tuple(AXES.T @ np.array(list(record.x.values()))) for record in records[:90]]
    np.testing.assert_allclose(sorted(kept), sorted(true), atol=1e-9)


# --- many versions --------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [0.0, 5.0])
def test_after_a_year_of_versions_the_owner_is_known_as_on_the_first_day(of, degrees):
    """No label comes after the first day; each version is off by its own noise, and turned."""
    with running(of, None, published(of, 1, AXES, False)) as (agent, recognition, state):
        feed(agent, recognition, lived(300))
        recognition.checkpoint()
        before = saved(state)
        sizes = [len(state.recognition(of.name)) + len(state.recognition_frame(of.name))]
        for day in range(2, 366):
            agent.receive(*published(of, day, wobbled(degrees, day), False))
            feed(agent, recognition, unlabelled(lived(2, seed=day, start=300 + 2 * day)))
            if day % 50 == 0:
                recognition.checkpoint(leaving=True)
                sizes.append(len(state.recognition(of.name)))
                sizes[-1] += len(state.recognition_frame(of.name))
        records = lived(300, seed=5, start=2000)
        served = feed(agent, recognition, unlabelled(records))
        recognition.checkpoint(leaving=True)
        after = saved(state)
    assert after["pairs"] == before["pairs"]
    assert right(served, records) > 0.95
    assert max(sizes) < 1.2 * sizes[0] + 500  # watches fill, and then stay as they are
    assert after["past"] == []


def test_the_classifier_follows_a_space_that_turns_away_for_good(of):
    """60 degrees over ten versions; the owner labels now and then."""
    with running(of, None, published(of, 1, AXES)) as (agent, recognition, state):
        feed(agent, recognition, lived(300))
        for k in range(1, 11):
            angle = np.radians(6.0 * k)
            true = np.cos(angle) * AXES + np.sin(angle) * TRUTH[:, 2:4]
            agent.receive(*published(of, 1 + k, true @ turned(k), False))
            records = lived(60, seed=k, start=300 + 60 * k, directions=true)
            served = feed(agent, recognition, records)
            assert {line["by"] for line in served} == {"device"}
            assert right(served, records) > 0.9
        recognition.checkpoint()
        assert saved(state)["now"]["labelled"] == 900
        assert saved(state)["past"] == []


# --- another space --------------------------------------------------------------------------------


def test_a_small_change_of_the_space_changes_few_answers(of):
    changed = {}
    for degrees in (0.0, 2.0, 10.0):
        with running(of, None, published(of, 1, AXES, False)) as (agent, recognition, _):
            feed(agent, recognition, lived(300))
            agent.receive(*published(of, 2, wobbled(degrees, 3), False))
            served = feed(agent, recognition, unlabelled(lived(1000, seed=2, start=300)))
        changed[degrees] = [line["answer"] for line in served]
    differ = {
        degrees: np.mean([one != other for one, other in zip(said, changed[0.0], strict=True)])
        for degrees, said in changed.items()
    }
    assert differ[2.0] <= 0.01
    assert differ[10.0] <= 0.03


@pytest.mark.parametrize(("error", "cause"), [(0.1, "more"), (1.2, "not more")])
def test_a_wholly_new_space_starts_anew_and_says_so_once(of, caplog, error, cause):
    with running(of, None, published(of, 1, AXES, False)) as (agent, recognition, state):
        feed(agent, recognition, lived(300))
        agent.receive(*published(of, 2, TRUTH[:, 2:4], False, error))
        with caplog.at_level(logging.INFO, "fsir.predict"):
            served = feed(agent, recognition, unlabelled(lived(50, seed=1, start=300)))
        recognition.checkpoint(leaving=True)
        table = saved(state)
    assert not any("answer" in line for line in served)
    assert [one["labelled"] for one in table["past"]] == [300]
    (said,) = [entry.getMessage() for entry in caplog.records]
    assert said == (
        "test: a new subspace, version 2: it has moved by 90 degrees, "
        f"{cause} than noise explains; recognition starts anew"
    )


def test_what_is_left_of_the_old_space_is_kept_and_the_rest_is_learned(of, caplog):
    """One of two directions is new: answers come from the other, and then from both."""
    with running(of, None, published(of, 1, AXES, False)) as (agent, recognition, state):
        feed(agent, recognition, lived(300))
        both = np.column_stack([TRUTH[:, 3], TRUTH[:, 1]])
        agent.receive(*published(of, 2, both @ turned(1), False))
        with caplog.at_level(logging.INFO, "fsir.predict"):
            records = lived(300, seed=1, start=300, directions=both)
            first = feed(agent, recognition, unlabelled(records))
        feed(agent, recognition, lived(240, seed=2, start=600, directions=both))
        records_then = lived(300, seed=3, start=900, directions=both)
        then = feed(agent, recognition, unlabelled(records_then))
        recognition.checkpoint()
        assert saved(state)["past"] == []
    (said,) = [entry.getMessage() for entry in caplog.records]
    assert "goes on with 1 of its 2 directions" in said
    assert 0.5 < right(first, records) < 0.8  # the new direction alone tells two classes apart
    assert right(then, records_then) > 0.93


def test_a_second_direction_is_learned_beside_the_first(of):
    with running(of, None, published(of, 1, AXES[:, 1:], False)) as (agent, recognition, _):
        feed(agent, recognition, lived(300))
        agent.receive(*published(of, 2, AXES @ turned(1), False))
        records = lived(300, seed=1, start=300)
        first = feed(agent, recognition, unlabelled(records))
        feed(agent, recognition, lived(240, seed=2, start=600))
        records_then = lived(300, seed=3, start=900)
        then = feed(agent, recognition, unlabelled(records_then))
        agent.receive(*published(of, 3, AXES[:, 1:], False))
        records_less = lived(300, seed=4, start=1200)
        less = feed(agent, recognition, unlabelled(records_less))
    assert 0.5 < right(first, records) < 0.8
    assert right(then, records_then) > 0.93
    assert 0.5 < right(less, records_less) < 0.8


def test_one_class_that_tells_of_a_new_direction_does_not_take_over(of):
    with running(of, None, published(of, 1, AXES[:, :1], False)) as (agent, recognition, _):
        feed(agent, recognition, lived(300))
        agent.receive(*published(of, 2, AXES @ turned(1), False))
        feed(agent, recognition, [each for each in lived(60, start=300) if each.y == "a"])
        records = lived(300, seed=1, start=400)
        assert right(feed(agent, recognition, unlabelled(records)), records) > 0.85


@pytest.mark.parametrize("directions", [2, 3])
def test_the_watch_looks_anew_at_a_space_that_has_moved(of, directions):
    """The new version is no alarm; a sensor that is moved afterwards is."""
    both = np.column_stack([TRUTH[:, 3], TRUTH[:, 1]])
    shown = np.column_stack([both, TRUTH[:, 4]])[:, :directions]
    with running(of, None, published(of, 1, AXES)) as (agent, recognition, state):
        feed(agent, recognition, lived(900))
        agent.receive(*published(of, 2, shown @ np.diag([3.0, 0.2, 9.0][:directions]), False))
        usual = lived(1500, seed=1, start=900, directions=both)
        moved = lived(300, seed=2, start=2400, directions=both, shift=5.0)
        served = feed(agent, recognition, unlabelled(usual + moved))
        recognition.checkpoint(leaving=True)
        places = saved(state)["fit"]["places"].values()
    alarms = [line["record"] for line in served if "drift" in line]
    assert len(alarms) == 1
    assert alarms[0] >= 1000 + 2400
    assert {len(mean) for _, mean, _ in places} == {8 * directions}


# --- other tasks ----------------------------------------------------------------------------------


def test_versions_of_a_numeric_response_are_served_as_ever():
    of = task(P, response={"classes": None, "cuts": [0.0, 1.0]})
    state = State(None, DEVICE, simulated=True)
    agent = simulated(of, state=state)
    agent.learn_many(np.random.default_rng(0).normal(size=(100, P)), list(range(100)))
    agent.receive(*receipt(of, agent.outgoing(1.0)))
    recognition = Recognition(state, [agent])
    for version in range(1, 5):
        basis = AXES @ turned(version)
        agent.receive(*subspace(of, of.features.names, 2, version=version, basis=basis))
        for record in lived(5, seed=version, start=5 * version):
            assert recognition.serve(agent, record) == agent.serve(record)
            recognition.learn(record)
    recognition.checkpoint(leaving=True)
    assert state.recognition("test") is None
    assert state.recognition_frame("test") is None


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e150, 1e300])
def test_a_basis_that_is_of_no_use_does_not_stop_the_agent(of, size):
    with running(of, None, published(of, 1, AXES, False)) as (agent, recognition, _):
        feed(agent, recognition, lived(100))
        with np.errstate(all="ignore"):
            agent.receive(*published(of, 2, size * np.ones((P, 2)), False))
            feed(agent, recognition, lived(100, start=100))
            agent.receive(*published(of, 3, AXES, False))
            feed(agent, recognition, lived(100, start=200))
            recognition.checkpoint(leaving=True)
