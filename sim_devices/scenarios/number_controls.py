"""Controls where the response is a number: how much of it would other directions explain?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.subspace import projection_loss
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios import line, sir
from sim_devices.scenarios.class_controls import spread, together
from sim_devices.scenarios.control import Control, Measure, Variant, measured
from sim_devices.scenarios.evaluation import projected
from sim_devices.scenarios.scenarios import Scenario


def of_numbers(
    scenario: Scenario, subspace: Subspace, alone: Variant | None, quiet: Variant
) -> Iterator[Control]:
    """All of them: what is public, one device, no noise, everything in one place."""
    task = quiet.task
    d = subspace.dimension
    devices = scenario.population.devices
    yield from _of_sample(scenario, task, d)
    if alone is not None:
        yield _of_variant(scenario, alone, public=True)
    tried = spread(devices)
    bases = [_directions(task, [stream], d) for stream in tried]
    yield _control(f"one device alone: plain SIR (mean of {len(tried)})", scenario, task, bases)
    yield _of_variant(scenario, quiet, private=False)
    pooled = _directions(task, devices, d)
    name = "all records in one place: plain SIR (not private)"
    yield _control(name, scenario, task, [pooled], private=False)


def explained(task: Task, subspace: Subspace, streams: Sequence[DeviceStream]) -> float:
    """R^2 of a line on the directions of a subspace, for records that it has never seen."""
    return sir.explained(projected(task, subspace, streams), together(streams)[1])


def loss_of(basis: Matrix, scenario: Scenario) -> float | None:
    """How far these directions are from the truth, where that is known."""
    return None if scenario.truth is None else projection_loss(basis, scenario.truth)


def _of_sample(scenario: Scenario, task: Task, d: int) -> Iterator[Control]:
    """The public sample alone, as anybody would use it."""
    sample = scenario.volunteer
    if sample is None:
        return
    X = _standardised(task, sample.X)
    bases = {
        "plain SIR": _directions(task, [sample], d),
        "least squares": line.plain(X, sample.y),
        "shrunken least squares": line.shrunken(X, sample.y),
    }
    for way, basis in bases.items():
        yield _control(f"{scenario.called} alone: {way}", scenario, task, [basis], public=True)


def _of_variant(
    scenario: Scenario, variant: Variant, *, public: bool = False, private: bool = True
) -> Control:
    def measure(streams: Sequence[DeviceStream]) -> float:
        return explained(variant.task, variant.subspace, streams)

    unseen = scenario.population.unseen
    found = measured(variant.name, measure, unseen, public=public, private=private)
    return replace(found, loss=loss_of(variant.subspace.basis, scenario))


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
    measure = _explaining(task, bases)
    found = measured(name, measure, scenario.population.unseen, public=public, private=private)
    if scenario.truth is None:
        return found
    losses = [projection_loss(basis, scenario.truth) for basis in bases]
    return replace(found, loss=float(np.mean(losses)))


def _explaining(task: Task, bases: Sequence[Matrix]) -> Measure:
    def explain(streams: Sequence[DeviceStream]) -> float:
        X, y = together(streams)
        rows = _standardised(task, X)
        return float(np.mean([sir.explained(rows @ basis, y) for basis in bases]))

    return explain
