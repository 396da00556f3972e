"""A task for a data set is made from public knowledge alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim_devices.datasets.population import Population
from sim_devices.datasets.synthetic_har import synthetic_har
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import accuracy, without_network
from sim_devices.scenarios.tasks import Setting, build, proposal_of
from tests.sim_devices.few_people import few_people, unequal_people

VOLUNTEER = "person-01"


@pytest.fixture(scope="module")
def people() -> Population:
    return synthetic_har(10, 150, 0, unseen=3, levels=True)


@pytest.mark.parametrize("chosen", [0, 5, None])
def test_no_record_of_a_device_enters_the_task(people, chosen):
    rng = np.random.default_rng(0)
    strangers = tuple(
        stream if stream.device == VOLUNTEER else replace(stream, X=rng.normal(size=stream.X.shape))
        for stream in people.devices
    )
    setting = Setting(unit_records=2)
    tasks = [
        build(scenario.population, scenario.geometry, setting)
        for scenario in (
            scenarios.activities(people, VOLUNTEER, chosen),
            scenarios.activities(replace(people, devices=strangers), VOLUNTEER, chosen),
        )
    ]
    assert tasks[0].digest == tasks[1].digest
    assert (tasks[0].screening is None) == (chosen != 0)
    assert (tasks[0].public is None) == (chosen is not None)
    if chosen is not None:
        assert tasks[0].p == (chosen or len(people.features))


def test_a_proposed_task_asks_for_as_many_records_as_the_longest_stream_has():
    people = unequal_people()
    lengths = [len(stream) for stream in people.population.devices]
    task = build(people.population, people.geometry, Setting())
    assert task.report.records == max(lengths) > min(lengths)
    assert "shorter streams are filled up with unlabelled windows" in people.population.caveats
    other = few_people()
    assert "shorter streams are filled up with unlabelled windows" not in other.population.caveats
    fewer = build(people.population, people.geometry, Setting(records=100))
    assert fewer.report.records == 100


def test_the_first_of_invented_people_proposes_alone_what_they_propose_among_others():
    setting = Setting(epsilon=2.0)
    begun = scenarios.first_proposal(4, 60, True, 3, setting)
    scenario = scenarios.synthetic_har(4, 60, True, VOLUNTEER, 3, None)
    helped = scenarios.synthetic_har(4, 60, True, VOLUNTEER, 3, None, begun)
    task = build(scenario.population, scenario.geometry, setting)
    assert build(helped.population, helped.geometry, setting).digest == task.digest
    (proposal,) = (other.result() for other in begun.values())
    asked = proposal_of(scenario.population, scenario.geometry, setting)
    assert proposal.sections == asked.sections
    assert set(scenario.geometry._known) == set(begun)


def test_a_proposal_is_worked_out_once_for_each_budget():
    people = unequal_people()
    first = build(people.population, people.geometry, Setting(epsilon=1.0))
    again = build(people.population, people.geometry, Setting(epsilon=1.0, mechanism="none"))
    build(people.population, people.geometry, Setting(epsilon=2.0))
    assert len(people.geometry._known) == 2
    assert first.public == again.public
    assert again.privacy.split is None


def test_features_that_never_move_at_the_volunteer_are_left_out(people):
    still = tuple(
        replace(stream, X=np.where(np.arange(561) == 7, 0.5, stream.X))
        if stream.device == VOLUNTEER
        else stream
        for stream in people.devices
    )
    scenario = scenarios.activities(replace(people, devices=still), VOLUNTEER, None)
    assert people.features[7] not in scenario.population.features
    assert people.features[7] in scenario.whole.features
    assert len(scenario.volunteer.X[0]) == len(scenario.population.features)


def test_a_volunteer_s_choice_serves_people_who_took_no_part(people):
    scenario = scenarios.activities(people, VOLUNTEER, scenarios.CHOSEN)
    assert VOLUNTEER not in {stream.device for stream in scenario.population.everyone}
    assert scenario.population.features == tuple(
        name for name in people.features if name in scenario.population.features
    )
    assert any("chose the features" in caveat for caveat in scenario.population.caveats)
    task = build(scenario.population, scenario.geometry, Setting(epsilon=8.0, dimension=2))
    subspace = without_network(task, scenario.population.devices, seed=0)
    assert accuracy(task, subspace, scenario.population.unseen) > 0.9
