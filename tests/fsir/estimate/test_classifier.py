"""The classifier that the private moments give: linear discriminant analysis without noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fsir.contract import task_from_table
from fsir.estimate.projection import Projector
from fsir.estimate.subspace import estimate
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.task.task import Task
from sim_devices.datasets.har import har
from sim_devices.scenarios.evaluation import accuracy, without_network
from sim_devices.scenarios.tasks import volunteer_centre, with_volunteer
from tests.fsir.tasks import task

CLASSES = np.array(["a", "b", "c"])


def labelled(records: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three overlapping, correlated classes of different frequency, on the grid of the task."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, records, p=[0.5, 0.3, 0.2])
    means = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [0, 1, -1, 0]])
    X = means[y] + rng.standard_normal((records, 4)) @ rng.standard_normal((4, 4)) * 0.6
    return np.round(X * 256) / 256, CLASSES[y]


def released(chosen: Task, X: np.ndarray, y: np.ndarray, devices: int = 1) -> Totals:
    totals = Totals(first_stage(chosen))
    for k in range(devices):
        moments = Moments(chosen, totals.stage)
        moments.learn_many(X[k::devices], y[k::devices])
        totals.add(release(moments, SeededNoise(1, str(k))))
    return totals


def test_without_noise_it_is_linear_discriminant_analysis():
    plain = task(
        4, clip={"truncate": 32.0, "norm": 64.0}, privacy={"mechanism": "none"}, dimension=2
    )
    X, y = labelled(3000, 1)
    new, _ = labelled(500, 2)
    labels, confidence = Projector(plain, estimate(plain, released(plain, X, y))).classify(new)
    textbook = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    assert labels == textbook.predict(new).tolist()
    np.testing.assert_allclose(confidence, textbook.predict_proba(new).max(axis=1), rtol=2e-2)


def test_centroids_are_the_projected_class_means():
    plain = task(
        4, clip={"truncate": 32.0, "norm": 64.0}, privacy={"mechanism": "none"}, dimension=2
    )
    X, y = labelled(900, 3)
    subspace = estimate(plain, released(plain, X, y))
    means = np.stack([X[y == label].mean(axis=0) for label in CLASSES])
    np.testing.assert_allclose(
        subspace.classifier.centroids, Projector(plain, subspace).project(means), atol=1e-9
    )


def test_a_class_that_nobody_has_seen_breaks_nothing():
    for mechanism in ("none", "gaussian"):
        chosen = task(
            4, clip={"truncate": 4.0, "norm": 4.0}, privacy={"mechanism": mechanism, "epsilon": 4.0}
        )
        X, y = labelled(2000, 4)
        seen = y != "c"
        subspace = estimate(chosen, released(chosen, X[seen], y[seen], 4))
        labels, _ = Projector(chosen, subspace).classify(X[seen])
        assert np.isfinite(subspace.classifier.weights).all()
        assert np.mean(np.array(labels) == y[seen]) > 0.75


def har_task(population, centre: np.ndarray, **privacy: float) -> Task:
    """The public choice for UCI HAR, three levels: docs/estimate.md says how it was found."""
    n = min(len(stream) for stream in population.devices)
    return task_from_table(
        {
            "name": "har",
            "features": {"names": list(population.features), "centre": centre.tolist()},
            "response": {"classes": list(population.classes)},
            "clip": {"truncate": 2.0, "norm": 5.0},
            "privacy": {"epsilon": 1.0, "delta": n**-1.1, **privacy},
            "report": {"records": n},
            "screening": {"code": "simplex", "share": 0.6, "keep": 4, "final_norm_factor": 0.6},
            "dimension": 2,
        }
    )


def accuracy_of(task: Task, population, seed: int = 0) -> float:
    """How often people are recognised whom nobody has learned from."""
    return accuracy(task, without_network(task, population.devices, seed), population.unseen)


@pytest.fixture(scope="module")
def people(data_dir):
    population, volunteer = with_volunteer(har(data_dir), "subject-01")
    return population, volunteer_centre(volunteer)


@pytest.mark.data
def test_unseen_people_are_recognised_at_epsilon_1(people):
    population, centre = people
    chosen = har_task(population, centre)
    accuracies = [accuracy_of(chosen, population, seed) for seed in range(3)]
    assert np.mean(accuracies) >= 0.99
    assert min(accuracies) >= 0.97
    plain = replace(chosen, privacy=chosen.privacy._replace(mechanism="none"))
    assert accuracy_of(plain, population) >= 0.99


@pytest.mark.data
def test_trimming_costs_nothing_among_people_who_do_not_lie(people):
    population, centre = people
    chosen = har_task(population, centre)
    trimmed = replace(chosen, aggregation="trimmed")
    by_sum = np.mean([accuracy_of(chosen, population, seed) for seed in range(4)])
    by_trimming = np.mean([accuracy_of(trimmed, population, seed) for seed in range(4)])
    print(f"sum {by_sum:.4f} trimmed {by_trimming:.4f}")
    assert by_trimming >= by_sum - 0.005


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("delta", [281**-1.1, 1e-6])
def test_unseen_people_over_20_seeds(people, unit, delta):
    population, centre = people
    chosen = har_task(population, centre, unit_records=unit, delta=delta)
    accuracies = [accuracy_of(chosen, population, seed) for seed in range(20)]
    mean = np.mean(accuracies)
    worst = min(accuracies)
    setting = f"unit {unit} delta {delta:.1e} n {chosen.report.records}"
    print(f"{setting}: mean {mean:.4f} worst {worst:.4f}")
    assert mean >= 0.99
    assert worst >= 0.97
