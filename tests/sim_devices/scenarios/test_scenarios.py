"""A task for a data set is made from public knowledge alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim_devices.datasets.population import Population
from sim_devices.datasets.synthetic_har import synthetic_har
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import accuracy, without_network
from sim_devices.scenarios.tasks import Setting, build

VOLUNTEER = "person-01"


@pytest.fixture(scope="module")
def people() -> Population:
    return synthetic_har(10, 150, 0, unseen=3, levels=True)


@pytest.mark.parametrize("chosen", [0, 5])
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
    assert (tasks[0].screening is None) == bool(chosen)
    assert tasks[0].p == (chosen or len(people.features))


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
