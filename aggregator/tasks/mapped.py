"""What a task with a public map will give, by its own public sample: federations are invented.

In the coordinates of the map slices lie where the sample has them, shifted by as much as the
estimate itself holds possible (`fsir.estimate.posterior`): from other records of the same people to
other people. Records scatter around them with unit variance and are clipped; the noise is that of
the stage. What the real estimate makes of the sums is compared with what was invented.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from aggregator.tasks.invented import Fleet
from fsir.arrays import Matrix
from fsir.estimate.subspace import estimate, projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.plan import Stage, first_stage
from fsir.task.public_map import Public
from fsir.task.task import Task
from fsir.wire.messages import Subspace

_SEED = 20130625
FEDERATIONS = 8  # to average over
_DRAWN = 1000  # pairs of records by which the clip is felt
_FARTHEST = 1.0  # variance of the shift of a slice, in units of that within slices
_FEWEST = 2.0  # records of a slice in the sample: a mean of fewer says nothing


@dataclass(frozen=True)
class Forecast:
    """Means over invented federations of one size."""

    loss: float  # projection loss in the coordinates of the map
    expected_error: float  # what the estimate says of itself
    expected_accuracy: float | None  # of the classifier, where the response has classes


def directions(task: Task, public: Public) -> int:
    """How many directions a forecast is about: all that tell classes apart, or one, if `auto`."""
    widest = min(public.coordinates, task.slicing.count - 1)
    return task.dimension or (widest if task.response.classes else 1)


def forecast(
    task: Task, public: Public, n: int, devices: int, federations: int = FEDERATIONS
) -> Forecast:
    """What so many devices with `n` records each may give; 0 devices are the sample alone."""
    fixed = replace(task, dimension=directions(task, public))
    stage = first_stage(fixed)
    to_map = np.linalg.pinv(public.matrix(task.p))
    fleet = Fleet.of(task, stage, n, devices)
    rng = np.random.default_rng(_SEED)
    losses = []
    found: list[Subspace] = []
    for _ in range(federations):
        shifts = _shifts(public, rng)
        totals = Totals(stage)
        if devices:
            totals = fleet.totals(_sums(stage, public, shifts, fleet, rng), rng)
        subspace = estimate(fixed, totals)
        truth = _leading(public.centre_rows() + shifts, public, subspace.basis.shape[1])
        losses.append(projection_loss(to_map @ subspace.basis, truth))
        found.append(subspace)
    accuracies = [s.expected_accuracy for s in found if s.expected_accuracy is not None]
    return Forecast(
        loss=float(np.mean(losses)),
        expected_error=float(np.mean([s.expected_error for s in found])),
        expected_accuracy=float(np.mean(accuracies)) if accuracies else None,
    )


def _shifts(public: Public, rng: np.random.Generator) -> Matrix:
    """How far slices lie from the public centres: all orders of magnitude are alike."""
    records = np.maximum(public.records * np.array(public.shares), _FEWEST)
    least = np.log(1.0 / records)
    variances = np.exp(rng.uniform(least, math.log(_FARTHEST)))
    q = public.coordinates
    return np.asarray(np.sqrt(variances)[:, None] * rng.standard_normal((len(records), q)))


def _sums(
    stage: Stage, public: Public, shifts: Matrix, fleet: Fleet, rng: np.random.Generator
) -> dict[str, Matrix]:
    """The sums over all records of the devices, before noise: normal, as those of many are."""
    counts = fleet.records * np.array(public.shares)
    q = stage.p
    T = np.zeros((q, q))
    sums = np.empty((q, len(shifts)))
    z = rng.standard_normal((_DRAWN, q))
    for h, shift in enumerate(shifts):
        mean, variance = _clipped(shift, stage.norm, z)
        spread = math.sqrt(counts[h] * variance) * fleet.more
        error = spread * rng.standard_normal(q)
        sums[:, h] = counts[h] * mean + error
        T += counts[h] * (variance * np.eye(q) + np.outer(mean, mean))
        T += np.outer(mean, error) + np.outer(error, mean)
        T += spread * math.sqrt(variance) * _symmetric(q, rng)
    return {
        "sums": sums.reshape(-1),
        "counts": counts,
        "diagonal": np.diagonal(T),
        "off_diagonal": T[np.triu_indices(q, 1)],
    }


def _clipped(shift: Matrix, norm: float, z: Matrix) -> tuple[Matrix, float]:
    """Mean and variance, in every coordinate, of records around `shift` after the clip."""
    # Each with its mirror image, so that chance moves the mean by no more than the clip does.
    records = shift + np.concatenate([z, -z])
    lengths = np.linalg.norm(records, axis=1, keepdims=True)
    records *= np.minimum(1.0, norm / lengths)
    mean = records.mean(axis=0)
    variance = float(np.square(records - mean).sum(axis=1).mean()) / len(shift)
    return mean, variance


def _symmetric(q: int, rng: np.random.Generator) -> Matrix:
    """The fluctuation of a second moment: off-diagonal entries have variance 1."""
    A = rng.standard_normal((q, q))
    return np.asarray((A + A.T) / math.sqrt(2.0))


def _leading(centres: Matrix, public: Public, d: int) -> Matrix:
    """The first d directions that tell such slices apart; the variance within them is 1."""
    shares = np.array(public.shares)
    apart = (centres - shares @ centres).T * np.sqrt(shares)
    return np.asarray(np.linalg.svd(apart, full_matrices=False)[0][:, :d])
