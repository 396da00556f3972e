"""How good a subspace is: on real people, and on labels that mean nothing."""

from __future__ import annotations

import numpy as np
import pytest

from sim_devices.datasets.population import with_shuffled_responses
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import accuracy, without_network
from sim_devices.scenarios.tasks import Setting, build
from tests.sim_devices.few_people import few_people, task_of


@pytest.mark.data
@pytest.mark.parametrize(("unit", "volunteer"), [(1, None), (1, "subject-01"), (2, "subject-01")])
def test_a_few_seeds_in_one_place(data_dir, unit, volunteer):
    scenario = scenarios.har(data_dir / "uci_har", True, volunteer)
    setting = Setting(epsilon=1.0, delta=None, unit_records=unit, dimension=2)
    task = build(scenario.population, scenario.geometry, setting)
    accuracies = [
        accuracy(
            task,
            without_network(task, scenario.population.devices, seed),
            scenario.population.unseen,
        )
        for seed in range(3)
    ]
    assert np.mean(accuracies) >= 0.99
    assert min(accuracies) >= 0.97


def test_shuffled_labels_give_chance():
    people = few_people()
    task = task_of(people)
    shuffled = with_shuffled_responses(people.population, np.random.default_rng(0))
    plain = without_network(task, people.population.devices, 1)
    assert accuracy(task, plain, people.population.unseen) > 0.9
    blind = [
        accuracy(task, without_network(task, shuffled.devices, seed), shuffled.unseen)
        for seed in range(5)
    ]
    responses = np.concatenate([stream.y for stream in shuffled.unseen])
    commonest = max(np.mean(responses == label) for label in shuffled.classes)
    assert np.mean(blind) < commonest + 0.1
