"""Sets are split as they say, and what is missing is named with its remedy."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from sim_devices.datasets.population import DataError
from sim_devices.worth.bundled import SHAPES, bundled
from sim_devices.worth.sets import load


@pytest.mark.parametrize("name", SHAPES)
def test_a_table_is_split_into_parts_that_share_no_record(name):
    table = bundled(name)
    shape = SHAPES[name]
    population = table.split(shape, np.random.default_rng(0))
    public, *devices = population.devices
    assert len(public) == shape.public
    assert [len(stream) for stream in devices] == [shape.records] * shape.devices
    assert sum(map(len, population.everyone)) == len(table.X)
    rows = np.concatenate([stream.X for stream in population.everyone])
    np.testing.assert_array_equal(rows[np.lexsort(rows.T)], table.X[np.lexsort(table.X.T)])


def test_columns_that_are_constant_in_public_are_dropped():
    scenario = load("digits", seed=1, splits=1, every=1).scenario(0)
    assert scenario.volunteer.X.std(axis=0).min() > 0.0
    assert len(scenario.population.features) == scenario.volunteer.X.shape[1] < 64
    assert len(scenario.population.devices) == SHAPES["digits"].devices


def test_splits_depend_on_seed_and_number():
    scenarios = [
        load("wine", seed=seed, splits=2, every=1).scenario(k)
        for seed, k in ((1, 0), (1, 0), (1, 1), (2, 0))
    ]
    first, same, *others = (scenario.volunteer.X for scenario in scenarios)
    np.testing.assert_array_equal(first, same)
    assert not any(np.array_equal(first, other) for other in others)


def test_people_volunteer_in_turn():
    watch = load("watch", seed=1, splits=1, every=3)
    assert watch.chosen == (0, 3, 6)
    scenario = watch.scenario(3)
    assert scenario.volunteer.device == "person-04"
    assert "person-04" not in [stream.device for stream in scenario.population.devices]


def test_without_data_the_remedy_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("FSIR_DATA", str(tmp_path))
    with pytest.raises(DataError, match="fsir-sim fetch har"):
        load("har", seed=1, splits=1, every=1)


def test_without_scikit_learn_the_remedy_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match="pip install scikit-learn"):
        bundled("wine")
