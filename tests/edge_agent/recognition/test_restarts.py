"""Recognition goes on over restarts and crashes, whatever version it wakes up under."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.state.state import State
from tests.edge_agent.recognition.people import feed
from tests.edge_agent.recognition.versions import (
    AXES,
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


@pytest.fixture
def of():
    return task_of_versions()


def test_a_crash_between_a_version_and_its_saving_loses_nothing(of, tmp_path):
    """Killed after each of many versions, some before and some after recognition was saved."""
    rng = np.random.default_rng(0)
    records = lived(300)
    first = published(of, 1, AXES, False)
    with running(of, tmp_path, first) as (agent, recognition, _):
        feed(agent, recognition, records)
        recognition.checkpoint()
    for version in range(2, 22):
        newer = published(of, version, wobbled(4.0, version), False)
        with running(of, tmp_path, newer) as (agent, recognition, _):
            for record in unlabelled(lived(3, seed=version, start=300 + 3 * version)):
                recognition.serve(agent, record)
            if rng.random() < 0.5:
                recognition.checkpoint(leaving=bool(rng.random() < 0.5))
    with running(of, tmp_path) as (agent, recognition, state):
        tested = lived(200, seed=9, start=900)
        served = feed(agent, recognition, unlabelled(tested))
        recognition.checkpoint(leaving=True)
        table = saved(state)
    assert table["now"]["labelled"] == 300
    kept = [tuple(z) for pairs in table["pairs"].values() for z in pairs]
    true = [tuple(AXES.T @ np.array(list(record.x.values()))) for record in records]
    np.testing.assert_allclose(sorted(kept), sorted(true), atol=1e-9)
    assert right(served, tested) > 0.95


@pytest.mark.parametrize("degrees", [0.0, 10.0, 30.0])
def test_a_restart_under_a_later_version_changes_nothing(of, tmp_path, degrees):
    """Also after the axes have followed."""
    second = published(of, 2, wobbled(degrees, 1), False)
    lives = []
    for restarts in (False, True):
        folder = tmp_path / str(restarts)
        with running(of, folder, published(of, 1, AXES, False)) as (agent, recognition, state):
            feed(agent, recognition, lived(600))
            agent.receive(*second)
            feed(agent, recognition, lived(500, seed=1, start=600))
            recognition.checkpoint(leaving=True)
            if not restarts:
                served = feed(agent, recognition, lived(200, seed=2, start=1100))
                recognition.checkpoint(leaving=True)
                lives.append((served, saved(state)))
        if restarts:
            with running(of, folder) as (agent, recognition, state):
                served = feed(agent, recognition, lived(200, seed=2, start=1100))
                recognition.checkpoint(leaving=True)
                lives.append((served, saved(state)))
    (plain, once), (again, after) = lives
    assert [line["answer"] for line in again] == [line["answer"] for line in plain]
    assert after["pairs"] == once["pairs"]
    assert after["fit"]["places"] == once["fit"]["places"]


def without_frame(state: State) -> None:
    """As version 0.1 has saved it."""
    with state._db.transaction():
        state._db.remove("meta", key="recognition:frame:test")


def test_what_version_0_1_saved_opens_and_follows_from_then_on(of, tmp_path):
    with running(of, tmp_path, published(of, 1, AXES, False)) as (agent, recognition, state):
        feed(agent, recognition, lived(300))
        recognition.checkpoint()
        without_frame(state)
    with running(of, tmp_path) as (agent, recognition, state):
        feed(agent, recognition, lived(60, seed=1, start=300))
        recognition.checkpoint()
    with running(of, tmp_path, published(of, 2, AXES @ turned(2), False)) as started:
        agent, recognition, state = started
        served = feed(agent, recognition, lived(60, seed=2, start=360))
        recognition.checkpoint()
        assert {line["by"] for line in served} == {"device"}
        assert saved(state)["now"]["labelled"] == 420


def test_where_nobody_knows_the_old_coordinates_recognition_starts_anew(of, tmp_path):
    with running(of, tmp_path, published(of, 1, AXES, False)) as (agent, recognition, state):
        feed(agent, recognition, lived(300))
        recognition.checkpoint()
        without_frame(state)
    with running(of, tmp_path, published(of, 2, AXES @ turned(2), False)) as started:
        agent, recognition, state = started
        feed(agent, recognition, lived(10, seed=2, start=360))
        recognition.checkpoint()
        assert saved(state)["now"]["labelled"] == 10
        assert [one["labelled"] for one in saved(state)["past"]] == [300]


def test_forget_deletes_the_coordinates_too(of, tmp_path):
    with running(of, tmp_path, published(of, 1, AXES)) as (agent, recognition, state):
        feed(agent, recognition, lived(30))
        recognition.checkpoint()
        assert state.recognition_frame("test") is not None
        state.forget("test")
        assert state.recognition_frame("test") is None
