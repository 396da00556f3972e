"""A few invented people with few features: federations that take no time."""

from __future__ import annotations

from dataclasses import replace

from fsir.task.task import Task
from sim_devices.datasets.population import Population
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
    """Six devices, two unseen people and a volunteer, with screening."""
    return scenarios.activities(_invented(), "person-01", norm=1.5)


def task_of(people: Scenario) -> Task:
    """Their task."""
    return build(people.population, people.geometry, Setting(epsilon=4.0, dimension=2))


def unequal_people() -> Scenario:
    """The same people with streams of different lengths, and a task that the volunteer proposes."""
    population = _invented()
    devices = tuple(
        replace(stream, X=stream.X[: 240 - 15 * k], y=stream.y[: 240 - 15 * k])
        for k, stream in enumerate(population.devices)
    )
    shortened = replace(population, devices=devices)
    return scenarios.proposed(shortened, "person-01", "activity")


def _invented() -> Population:
    return synthetic_har(9, 240, seed=3, unseen=2, names=SMALL)
