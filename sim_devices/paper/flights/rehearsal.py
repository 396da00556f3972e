"""Features and clip of a task from a public sample, by a rehearsal:
no private record is looked at, nothing is tuned.

A public sample comes from people who take no part, so that all of it may be used. Its covariance
tells which features go together: in uncorrelated ones no direction drowns in the noise on the
covariance. Then the federation is rehearsed with the sample in the place of its records, the noise
and the estimate being the real ones, for each clip of a fixed grid: a small clip turns the
direction where records have long tails, a large one brings noise. The clip whose direction comes
closest to that of the sample itself is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.estimate.subspace import angles
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from sim_devices.paper.cells import ExperimentError
from sim_devices.paper.exact import ExactMoments
from sim_devices.paper.merged_release import noiseless_basis, released_basis

DRAWS = 20
# In units of sqrt(p), the usual length of a record of uncorrelated features: from half of it to
# eight times.
CLIPS: tuple[float, ...] = tuple(2.0 ** (k / 2) for k in range(-2, 7))
SMALLEST = 1e-6  # of the largest eigenvalue: what varies less is a constant


@dataclass(frozen=True, eq=False)
class Design:
    """Features `A x - centre` of a record x, and the clip on their Euclidean norm."""

    A: Matrix
    centre: Matrix
    norm: float

    def features(self, X: Matrix) -> Matrix:
        """Records in these features."""
        return np.asarray(X @ self.A.T - self.centre)


@dataclass(frozen=True)
class Fleet:
    """Who will take part."""

    devices: int
    records: int


def uncorrelated(X: Matrix) -> tuple[Matrix, Matrix]:
    """`A` and centre of features that are uncorrelated in the sample,
    each as close to the original as can be."""
    values, vectors = np.linalg.eigh(np.cov(X.T))
    values = np.maximum(values, SMALLEST * values[-1])
    A = (vectors / np.sqrt(values)) @ vectors.T
    return A, A @ X.mean(axis=0)


def exact_direction(X: Matrix, slices: NDArray[np.integer], count: int) -> Matrix:
    """The first direction of records without clip and noise."""
    one_hot = np.eye(count)[slices]
    return noiseless_basis(ExactMoments(len(X), X.T @ one_hot, one_hot.sum(axis=0), X.T @ X), 1)


def rehearse(task: Task, X: Matrix, y: Matrix, fleet: Fleet) -> float:
    """Median angle between the sample's own direction and what
    a federation of such records would find.

    The features of the task have centre 0 and scale 1.
    """
    stage = first_stage(task)
    moments = Moments(task, stage)
    moments.learn_many(X, y)
    second = moments.second()
    if second is None:
        raise ExperimentError(f"task {task.name}: a rehearsal is about tasks without screening")
    N = fleet.devices * fleet.records
    times = N / moments.n
    exact = ExactMoments(N, times * moments.sums(), times * moments.counts(), times * second)
    target = exact_direction(X, task.slicing.slices_of(y), task.slicing.count)
    rng = np.random.default_rng(0)
    drawn = [released_basis(stage, exact, fleet.devices, 1, rng) for _ in range(DRAWS)]
    return float(np.median([angles(target, basis).max() for basis in drawn]))


def best_clip(make: Callable[[float], Task], X: Matrix, y: Matrix, fleet: Fleet) -> float:
    """The clip of the grid whose rehearsal comes closest; `make` gives the task for a clip."""
    norms = (unit * math.sqrt(X.shape[1]) for unit in CLIPS)
    turned = {norm: rehearse(make(norm), X, y, fleet) for norm in norms}
    return min(turned, key=turned.__getitem__)
