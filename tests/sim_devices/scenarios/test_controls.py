"""Controls are what they say they are: none is missing, and the best public one counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim_devices.scenarios import lda, scenarios
from sim_devices.scenarios.class_controls import spread, together
from sim_devices.scenarios.control import Beside, Control
from sim_devices.scenarios.controls import beside
from sim_devices.scenarios.evaluation import accuracy, without_network
from sim_devices.scenarios.number_controls import explained
from sim_devices.scenarios.proposed import PublicSample
from sim_devices.scenarios.tasks import Setting, build
from tests.sim_devices.few_people import few_people, task_of, unequal_people

PUBLIC = [
    "always the commonest class",
    "the volunteer alone: plain LDA, 5 features",
    "the volunteer alone: shrunken LDA, 5 features",
    "the volunteer alone: this task, no reports",
]
OTHERS = [
    "one device alone: plain LDA (mean of 6)",
    "the same devices without noise",
    "all records in one place: plain LDA (not private)",
]


@pytest.fixture(scope="module")
def people():
    return unequal_people()


@pytest.fixture(scope="module")
def task(people):
    return build(people.population, people.geometry, Setting(epsilon=4.0))


@pytest.fixture(scope="module")
def found(people, task):
    return beside(people, task, without_network(task, people.population.devices, 1))


def test_none_is_missing(found):
    assert [control.name for control in found.controls] == PUBLIC + OTHERS
    assert [control.name for control in found.controls if control.public] == PUBLIC
    assert [control.name for control in found.controls if not control.private] == OTHERS[1:]


def test_each_is_what_it_says(people, found):
    scores = {control.name: control.score for control in found.controls}
    X, y = together(people.population.unseen)
    sample = people.volunteer
    alone = np.mean(lda.plain(sample.X, sample.y).predict(X) == y)
    pooled = np.mean(lda.plain(*together(people.population.devices)).predict(X) == y)
    assert scores[PUBLIC[1]] == alone
    assert scores[OTHERS[2]] == pooled
    for variant in (found.alone, found.quiet):
        measured = accuracy(variant.task, variant.subspace, people.population.unseen)
        assert scores[variant.name] == measured
    assert found.alone.subspace.devices == 0
    assert found.quiet.task.privacy.mechanism == "none"


def test_the_best_public_control_is_the_best_of_all_of_them(found):
    public = [control for control in found.controls if control.name in PUBLIC]
    assert found.best_public.score == max(control.score for control in public)
    assert found.best_without is found.best_public


def test_without_a_public_sample_one_device_alone_counts():
    controls = (
        Control(name="guess", score=0.3, public=True),
        Control(name="one device", score=0.6),
        Control(name="pooled", score=0.9, private=False),
    )
    assert Beside(controls=controls).best_without.name == "one device"


def test_what_is_public_knows_nothing_of_the_devices(people, task, found):
    rng = np.random.default_rng(0)

    def stranger(stream):
        return replace(stream, X=rng.normal(size=stream.X.shape))

    def strangers(population):
        return replace(population, devices=tuple(map(stranger, population.devices)))

    other = replace(people, population=strangers(people.population), whole=strangers(people.whole))
    again = beside(other, task, without_network(task, other.population.devices, 1))
    scores = {control.name: control.score for control in again.controls if control.public}
    assert scores == {c.name: c.score for c in found.controls if c.public}
    assert again.controls[-1].score != found.controls[-1].score


def test_where_a_report_chooses_features_the_volunteer_is_tried_on_those_too():
    people = few_people()
    task = task_of(people)
    subspace = without_network(task, people.population.devices, 1)
    few = replace(subspace, features=subspace.features[:2], basis=subspace.basis[:2])
    names = [control.name for control in beside(people, task, few).controls]
    assert "the volunteer alone: plain LDA, 5 features" in names
    assert "the volunteer alone: plain LDA, 2 features" in names


def test_controls_of_a_number_know_the_truth():
    scenario = scenarios.model("IV", 12, 300, 5, seed=1)
    task = build(scenario.population, scenario.geometry, Setting(epsilon=4.0, dimension=2))
    subspace = without_network(task, scenario.population.devices, 1)
    found = beside(scenario, task, subspace).controls
    assert [control.name.partition(":")[0] for control in found] == [
        "one device alone",
        "the same devices without noise",
        "all records in one place",
    ]
    alone, quiet, pooled = (control.loss for control in found)
    assert pooled < 0.5 * alone
    assert quiet < alone
    assert all(control.score <= 1.0 for control in found)


def test_controls_of_a_number_with_a_public_sample():
    people = scenarios.model("IV", 12, 300, 5, seed=1).population
    sample = people.devices[0]
    geometry = PublicSample(sample, "y", cuts=tuple(np.quantile(sample.y, [0.25, 0.5, 0.75])))
    others = replace(people, devices=people.devices[1:])
    scenario = scenarios.Scenario(
        population=others, geometry=geometry, volunteer=sample, called="the public sample"
    )
    task = build(others, geometry, Setting(epsilon=8.0))
    assert task.response.cuts == geometry.cuts
    assert task.public.records == 300
    assert task.public.check is None  # slices of a number are named by no rule
    found = beside(scenario, task, without_network(task, others.devices, 1))
    public = [control.name for control in found.controls if control.public]
    assert public == [
        "the public sample alone: plain SIR",
        "the public sample alone: least squares",
        "the public sample alone: shrunken least squares",
        "the public sample alone: this task, no reports",
    ]
    scores = {control.name: control.score for control in found.controls}
    assert found.alone.subspace.devices == 0
    assert scores[public[3]] == explained(task, found.alone.subspace, others.unseen)
    assert scores["the same devices without noise"] == explained(
        found.quiet.task, found.quiet.subspace, others.unseen
    )


def test_few_of_many_devices_are_tried_alone():
    devices = scenarios.model("I", 100, 20, 3, seed=1).population.devices
    tried = spread(devices)
    assert len(tried) == 10
    assert tried[0] is devices[0]
    assert tried[-1] is devices[-1]
    assert spread(devices[:3]) == list(devices[:3])
