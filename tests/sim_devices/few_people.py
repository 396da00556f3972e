"""A few invented people, few features, with screening: a federation that takes no time."""

from __future__ import annotations

from fsir.task.task import Task
from sim_devices.datasets.synthetic_har import synthetic_har
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.scenarios import Scenario
from sim_devices.scenarios.tasks import Setting, build

SMALL = (
    "tBodyAcc-std()-X",
    "tBodyAcc-std()-Y",
    "tGravityAcc-mean()-X",
    "tGravityAcc-mean()-Y",
    "fBodyAcc-mean()-X",
)


def few_people() -> Scenario:
    """Six devices, two unseen people and a volunteer."""
    population = synthetic_har(9, 240, seed=3, unseen=2, names=SMALL)
    return scenarios.activities(population, "person-01", norm=1.5)


def task_of(people: Scenario) -> Task:
    """Their task."""
    return build(people.population, people.geometry, Setting(epsilon=4.0, dimension=2))
