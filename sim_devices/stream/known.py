"""Models whose geometry is public, and what a task for many rounds makes of that.

The longer a stream goes on, the less a clip may bend directions, for noise no longer hides it. A
clip of the length bends nothing where all directions are alike: so records are whitened by the
covariance that the model has publicly, as its cut points and scales are. Then all but a few records
may be clipped: a record clipped to a sphere still has its direction, and of all clips a short one
leaves the most signal over a noise that is proportional to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from fsir.arrays import Matrix
from fsir.task.task import Task
from sim_devices.datasets import models
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.tasks import Geometry, Setting, build

CLIP = 0.5  # times the root of p, the usual length: shorter clips gain less than one percent more


def known_task(name: models.Model, devices: int, records: int, p: int) -> Task:
    """The task of one report about whitened records; epsilon 1."""
    scenario = scenarios.model(name, devices, records, p, 1)
    assert isinstance(scenario.geometry, Geometry)
    geometry = replace(scenario.geometry, norm=CLIP * math.sqrt(p))
    return build(scenario.population, geometry, Setting(dimension=models.dimension(name)))


def whitening(name: models.Model, p: int) -> Matrix:
    """The inverse root of the model's public covariance.

    Directions `b` of whitened records are `whitening @ b` of the records themselves.
    """
    values, vectors = np.linalg.eigh(models.covariance(name, np.arange(p)))
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


def whitened(streams: Iterable[DeviceStream], whitening: Matrix) -> list[DeviceStream]:
    """What each device makes of its records, one by one."""
    return [replace(stream, X=stream.X @ whitening) for stream in streams]
