"""What one would get without the federation, or without its privacy: beside every result.

Whoever has a public sample can learn from it alone, and needs no device for it. So a federation is
worth what it adds to the *best* use of the sample, not to the one that looks worst.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.meanwhile import Meanwhile
from sim_devices.scenarios.class_controls import Models, models, of_classes
from sim_devices.scenarios.control import Beside, Variant
from sim_devices.scenarios.evaluation import noiseless, without_network, without_reports
from sim_devices.scenarios.number_controls import of_numbers
from sim_devices.scenarios.scenarios import Scenario


@dataclass(frozen=True)
class Variants:
    """What the task gives without the federation, and without its noise."""

    alone: Variant | None
    quiet: Variant


class Ahead:
    """What controls take most time for needs no report: others work it out while there is none."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._models: Meanwhile[Models] | None = None
        if scenario.population.classes:
            self._models = Meanwhile(lambda: models(scenario))
        self._variants: dict[bytes, Meanwhile[Variants]] = {}

    def begin(self, task: Task) -> None:
        """A federation works on this task now."""
        self._variants[task.digest] = Meanwhile(lambda: _variants(self._scenario, task))

    def controls(self, task: Task, subspace: Subspace) -> Beside:
        """All of them, once there is a result."""
        begun = self._variants.get(task.digest)
        found = _variants(self._scenario, task) if begun is None else begun.result()
        if self._models is None:
            made = of_numbers(self._scenario, subspace, found.alone, found.quiet)
        else:
            learned = self._models.result()
            made = of_classes(self._scenario, learned, subspace, found.alone, found.quiet)
        return Beside(controls=tuple(made), alone=found.alone, quiet=found.quiet)


def beside(scenario: Scenario, task: Task, subspace: Subspace) -> Beside:
    """The controls of a result."""
    return Ahead(scenario).controls(task, subspace)


def _variants(scenario: Scenario, task: Task) -> Variants:
    population = scenario.population
    plain = noiseless(task)
    learned = without_network(plain, population.devices)
    name = "the same devices without noise"
    quiet = Variant.of(name, plain, learned, population.unseen)
    return Variants(_alone(scenario, task), quiet)


def _alone(scenario: Scenario, task: Task) -> Variant | None:
    """The public sample through the task, with no report of any device."""
    if scenario.volunteer is None:
        return None
    name = f"{scenario.called} alone: this task, no reports"
    unseen = scenario.population.unseen
    if task.public is not None:
        return Variant.of(name, task, without_reports(task), unseen)
    plain = noiseless(task)
    plain = replace(plain, report=plain.report._replace(records=len(scenario.volunteer)))
    return Variant.of(name, plain, without_network(plain, [scenario.volunteer]), unseen)
