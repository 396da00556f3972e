"""Invented people: the same for the same seed, different from each other,
and neither trivial nor hopeless."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from edge_agent.signal.features import FEATURE_NAMES
from sim_devices.datasets.hapt import hapt
from sim_devices.datasets.population import ACTIVITIES, LEVELS, DataError, with_levels
from sim_devices.datasets.synthetic_har import synthetic_har
from sim_devices.datasets.synthetic_motion import GAITS, bout, draw_person
from sim_devices.scenarios import lda
from sim_devices.scenarios.class_controls import together


@pytest.fixture(scope="module")
def population():
    return synthetic_har(12, 120, seed=3, levels=False)


def test_shape_and_names(population):
    assert population.features == FEATURE_NAMES
    assert population.classes == ACTIVITIES
    assert (len(population.devices), len(population.unseen)) == (9, 3)
    assert all(stream.X.shape == (120, 561) for stream in population.everyone)
    assert all(np.abs(stream.X).max() <= 1 for stream in population.everyone)


def test_a_seed_gives_the_same_people_and_another_seed_others(population):
    again = synthetic_har(12, 120, seed=3, levels=False)
    fewer = synthetic_har(2, 120, seed=3, levels=False)
    other = synthetic_har(2, 120, seed=4, levels=False)
    first = population.devices[0]
    np.testing.assert_array_equal(first.X, again.devices[0].X)
    np.testing.assert_array_equal(first.X, fewer.devices[0].X)
    assert not np.array_equal(first.X, other.devices[0].X)
    assert not np.array_equal(first.X, population.devices[1].X)


@pytest.mark.parametrize("windows", [12, 60, 100])
def test_a_short_stream_holds_every_activity(windows):
    for stream in synthetic_har(4, windows, levels=False, names=FEATURE_NAMES[:3]).everyone:
        assert set(stream.y) == set(ACTIVITIES)
        changes = np.flatnonzero(stream.y[1:] != stream.y[:-1])
        assert np.diff(changes, prepend=-1).max() <= 20


def accuracy(population):
    X, y = (
        np.concatenate([getattr(stream, part) for stream in population.devices])
        for part in ("X", "y")
    )
    moves = X.std(0) > 1e-9
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X[:, moves], y)
    return np.mean(
        np.concatenate(
            [model.predict(stream.X[:, moves]) == stream.y for stream in population.unseen]
        )
    )


def test_levels_can_be_told_apart_and_six_activities_only_in_part(population):
    assert accuracy(with_levels(population)) > 0.97
    assert 0.6 < accuracy(population) < 0.97


def test_signals_are_physical():
    rng = np.random.default_rng(0)
    for _ in range(10):
        person = draw_person(rng)
        for activity in ACTIVITIES:
            acc, gyro = bout(person, activity, 640, rng)
            assert np.linalg.norm(acc.mean(0)) == pytest.approx(1, abs=0.1)
            assert np.abs(acc).max() < 4
            assert np.abs(gyro).max() < 10
            moving = acc.std(0).max()
            assert (moving > 0.08) == (activity in GAITS)


def test_levels_and_a_choice_of_features():
    names = ("tBodyAcc-std()-X", "tGravityAcc-mean()-X")
    population = synthetic_har(3, 18, names=names, unseen=2)
    assert population.features == names
    assert population.classes == LEVELS
    assert len(population.unseen) == 2


def test_impossible_requests_are_refused():
    with pytest.raises(DataError, match="1 people"):
        synthetic_har(1, 100)
    with pytest.raises(DataError, match="3 windows"):
        synthetic_har(4, 3)
    with pytest.raises(DataError, match="heartbeat"):
        synthetic_har(4, 12, names=("heartbeat",))


def between_people(population):
    """For each activity, what share of the variance within it lies between people: the median."""
    shares = []
    for label in population.classes:
        parts = [stream.X[stream.y == label] for stream in population.everyone]
        between = np.var([part.mean(0) for part in parts], axis=0)
        within = np.mean([part.var(0) for part in parts], axis=0)
        moves = between + within > 1e-8
        shares.append(np.median((between / (between + within + 1e-30))[moves]))
    return np.array(shares)


def told_apart(population):
    """On unseen people: by one person's records (the mean of twelve), and by those of all."""
    X, y = together(population.unseen)
    alone = [
        np.mean(lda.shrunken(stream.X, stream.y).predict(X) == y)
        for stream in population.devices[:12]
    ]
    pooled = np.mean(lda.plain(*together(population.devices)).predict(X) == y)
    return np.array([np.mean(alone), pooled])


@pytest.mark.slow
@pytest.mark.data
def test_invented_people_differ_as_real_ones_do(data_dir):
    """The table of docs/simulator.md; no federation has a part in it."""
    invented = synthetic_har(31, 300, seed=1, unseen=9, levels=False)
    real = hapt(data_dir / "hapt", levels=False)
    for name, people in (("HAPT", real), ("invented", invented)):
        print(f"{name}: between people {between_people(people).round(2)}")
        print(f"{name}: one person alone, all in one place {told_apart(people).round(3)}")
    assert np.abs(between_people(invented) - between_people(real)).max() < 0.25
    assert np.abs(told_apart(invented) - told_apart(real)).max() < 0.06
