"""A small grid: its columns, its controls, and that a cell does not depend on the others."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sim_devices.scenarios.class_controls import together
from sim_devices.worth.cell import Budget
from sim_devices.worth.grid import PAIRS, budgets_of, run, runs_of
from sim_devices.worth.sets import load


@pytest.fixture(scope="module")
def wine():
    return load("wine", seed=1, splits=2, every=1)


@pytest.fixture(scope="module")
def cells(wine):
    steps = []
    found = run([wine], [1.0], 1, lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]
    return found


def parts_of(wine, k):
    scenario = wine.scenario(k)
    return scenario.volunteer, *together(scenario.population.unseen), scenario.population


def test_plain_controls_are_scikit_learn_s(wine, cells):
    for k, found in enumerate(cells[0].runs):
        sample, X, y, population = parts_of(wine, k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = LinearDiscriminantAnalysis().fit(sample.X, sample.y)
            pooled = LinearDiscriminantAnalysis().fit(*together(population.devices))
        assert found.plain == alone.score(X, y)
        assert found.pooled == pooled.score(X, y)


def test_the_shrunken_control_has_scikit_learn_s_covariance(wine, cells):
    """Its own `shrinkage="auto"` shrinks each class by itself; here all are shrunk together."""
    for k, found in enumerate(cells[0].runs):
        sample, X, y, _ = parts_of(wine, k)
        classes, slices, counts = np.unique(sample.y, return_inverse=True, return_counts=True)
        means = np.stack([sample.X[slices == h].mean(axis=0) for h in range(len(classes))])
        within = sample.X - means[slices]
        unit = within.std(axis=0)
        inverse = np.linalg.inv(ledoit_wolf(within / unit, assume_centered=True)[0])
        away = (X[:, None, :] - means) / unit
        scores = -0.5 * np.einsum("nhi,ij,nhj->nh", away, inverse, away) + np.log(counts)
        assert found.shrunken == np.mean(classes[scores.argmax(axis=1)] == y)


def test_a_row_has_all_columns(cells):
    (cell,) = cells
    assert list(cell.row()) == [
        *("set", "epsilon", "unit_records", "runs", "federation", "worst"),
        *("expected", "confidence", "plain", "shrunken", "alone", "quiet", "pooled"),
        *("best_control", "best_public", "difference", "standard_error", "lost", "apart"),
    ]
    assert cell.row()["runs"] == 2
    assert all(0.5 < value <= 1.0 for value in cell.means.values())


def test_a_cell_is_the_same_alone_and_beside_others(wine, cells):
    beside = run([wine], [4.0, 1.0], 1, lambda done, total: None)
    assert [cell.budget for cell in beside] == [Budget(4.0), Budget(1.0)]
    assert beside[1] == cells[0]
    assert beside[0] != cells[0]


def test_two_records_together_are_another_budget(wine):
    found = runs_of(wine.scenario(0), [Budget(4.0), Budget(4.0, 2)], 1)
    single, pair = found.values()
    assert single.plain == pair.plain
    assert single.expected != pair.expected


def test_pairs_are_run_where_they_are_asked_for(wine):
    assert budgets_of(wine, [0.5, 1.0]) == [Budget(0.5), Budget(1.0)]
    overlapping = replace(wine, pairs=True)
    assert budgets_of(overlapping, [0.5, 1.0]) == [Budget(0.5), Budget(1.0), PAIRS]
    assert budgets_of(overlapping, [0.5]) == [Budget(0.5)]
