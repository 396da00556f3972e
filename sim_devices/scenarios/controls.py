"""What one would get without the federation, or without its privacy: beside every result.

Whoever has a public sample can learn from it alone, and needs no device for it. So a federation is
worth what it adds to the *best* use of the sample, not to the one that looks worst.
"""

from __future__ import annotations

from dataclasses import replace

from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.scenarios.class_controls import of_classes
from sim_devices.scenarios.control import Beside, Variant
from sim_devices.scenarios.evaluation import noiseless, without_network, without_reports
from sim_devices.scenarios.number_controls import of_numbers
from sim_devices.scenarios.scenarios import Scenario


def beside(scenario: Scenario, task: Task, subspace: Subspace) -> Beside:
    """The controls of a result."""
    plain = noiseless(task)
    learned = without_network(plain, scenario.population.devices)
    quiet = Variant("the same devices without noise", plain, learned)
    alone = _alone(scenario, task)
    of = of_classes if task.response.classes else of_numbers
    controls = tuple(of(scenario, subspace, alone, quiet))
    return Beside(controls=controls, alone=alone, quiet=quiet)


def _alone(scenario: Scenario, task: Task) -> Variant | None:
    """The public sample through the task, with no report of any device."""
    if scenario.volunteer is None:
        return None
    name = f"{scenario.called} alone: this task, no reports"
    if task.public is not None:
        return Variant(name, task, without_reports(task))
    plain = noiseless(task)
    plain = replace(plain, report=plain.report._replace(records=len(scenario.volunteer)))
    return Variant(name, plain, without_network(plain, [scenario.volunteer]))
