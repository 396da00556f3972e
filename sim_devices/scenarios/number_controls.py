"""Controls where the response is a number: how much of it would other directions explain?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.subspace import projection_loss
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios import sir
from sim_devices.scenarios.class_controls import spread, together
from sim_devices.scenarios.control import Control, Variant
from sim_devices.scenarios.evaluation import projected
from sim_devices.scenarios.scenarios import Scenario


def of_numbers(
    scenario: Scenario, subspace: Subspace, alone: Variant | None, quiet: Variant
) -> Iterator[Control]:
    """What is public, one device, no noise, everything in one place."""
    task = quiet.task
    d = subspace.dimension
    devices = scenario.population.devices
    if scenario.volunteer is not None:
        basis = _directions(task, [scenario.volunteer], d)
        yield _control("the volunteer alone: plain SIR", scenario, task, [basis], public=True)
    tried = spread(devices)
    bases = [_directions(task, [stream], d) for stream in tried]
    yield _control(f"one device alone: plain SIR (mean of {len(tried)})", scenario, task, bases)
    score = explained(quiet.task, quiet.subspace, scenario.population.unseen)
    loss = loss_of(quiet.subspace.basis, scenario)
    yield Control(name=quiet.name, score=score, loss=loss, private=False)
    pooled = _directions(task, devices, d)
    name = "all records in one place: plain SIR (not private)"
    yield _control(name, scenario, task, [pooled], private=False)


def explained(task: Task, subspace: Subspace, streams: Sequence[DeviceStream]) -> float:
    """R^2 of a line on the directions of a subspace, for records that it has never seen."""
    return sir.explained(projected(task, subspace, streams), together(streams)[1])


def loss_of(basis: Matrix, scenario: Scenario) -> float | None:
    """How far these directions are from the truth, where that is known."""
    return None if scenario.truth is None else projection_loss(basis, scenario.truth)


def _standardised(task: Task, X: Matrix) -> Matrix:
    return np.asarray((X - np.array(task.features.centre)) / np.array(task.features.scale))


def _directions(task: Task, streams: Sequence[DeviceStream], d: int) -> Matrix:
    X, y = together(streams)
    return sir.plain(_standardised(task, X), task.slicing.slices_of(y), d)


def _control(
    name: str,
    scenario: Scenario,
    task: Task,
    bases: Sequence[Matrix],
    *,
    public: bool = False,
    private: bool = True,
) -> Control:
    """The mean over these directions."""
    X, y = together(scenario.population.unseen)
    rows = _standardised(task, X)
    score = float(np.mean([sir.explained(rows @ basis, y) for basis in bases]))
    loss = None
    if scenario.truth is not None:
        loss = float(np.mean([projection_loss(basis, scenario.truth) for basis in bases]))
    return Control(name=name, score=score, loss=loss, public=public, private=private)
