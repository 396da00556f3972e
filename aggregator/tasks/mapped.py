"""What a task with a public map will give, by its own public sample: federations are invented.

In the coordinates of the map slices lie where the sample has them, shifted by as much as the
estimate itself holds possible (`fsir.estimate.public.shifts`): from other records of the same
people to other people; in those beyond the map they are shifted, too. Records scatter around them
as they would if the sample's own scatter were a matter of chance, and are clipped; the noise is
that of the stage. What the real estimate makes of
the sums is compared with what was invented.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from aggregator.tasks.invented import Fleet
from fsir.arrays import Matrix
from fsir.estimate.public.within import whitening_of
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
_MOST_BEYOND = 64  # coordinates beyond the map that are drawn one by one
_NARROWEST = 0.1  # variance within slices, in units of that of the sample
_FEWEST = 2.0  # records of a slice in the sample: a mean of fewer says nothing


@dataclass(frozen=True)
class Forecast:
    """Means over invented federations of one size."""

    loss: float  # projection loss in coordinates of unit variance within slices
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
        shifts, beyond = _shifts(public, task.p, rng)
        within = _within(public, rng)
        totals = Totals(stage)
        if devices:
            totals = fleet.totals(_sums(stage, public, shifts, within, fleet, rng), rng)
        subspace = estimate(fixed, totals)
        centres = np.concatenate([public.centre_rows() + shifts, beyond], axis=1)
        truth = _leading(centres, public, within, subspace.dimension)
        basis = np.pad(to_map @ subspace.basis, ((0, beyond.shape[1]), (0, 0)))
        losses.append(projection_loss(basis, truth))
        found.append(subspace)
    accuracies = [s.expected_accuracy for s in found if s.expected_accuracy is not None]
    return Forecast(
        loss=float(np.mean(losses)),
        expected_error=float(np.mean([s.expected_error for s in found])),
        expected_accuracy=float(np.mean(accuracies)) if accuracies else None,
    )


def _shifts(public: Public, p: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """How far slices lie from the public centres: all orders of magnitude are alike.

    In the coordinates of the map, and beyond it.
    """
    records = np.maximum(public.records * np.array(public.shares), _FEWEST)
    least = np.log(1.0 / records)
    variances = np.exp(rng.uniform(least, math.log(_FARTHEST)))
    q = public.coordinates
    drawn = min(p - q, _MOST_BEYOND)
    z = np.sqrt(variances)[:, None] * rng.standard_normal((len(records), q + drawn))
    return z[:, :q], z[:, q:] * ((p - q) / max(drawn, 1)) ** 0.5


def _within(public: Public, rng: np.random.Generator) -> Matrix:
    """The covariance within slices, of which so many records have shown the identity."""
    q = public.coordinates
    drawn = np.eye(q) + _symmetric(q, rng) / math.sqrt(public.records)
    values, vectors = np.linalg.eigh(drawn)
    return np.asarray((vectors * np.maximum(values, _NARROWEST)) @ vectors.T)


def _sums(
    stage: Stage,
    public: Public,
    shifts: Matrix,
    within: Matrix,
    fleet: Fleet,
    rng: np.random.Generator,
) -> dict[str, Matrix]:
    """The sums over all records of the devices, before noise: normal, as those of many are."""
    counts = fleet.records * np.array(public.shares)
    q = public.coordinates
    T = np.zeros((q, q))
    sums = np.zeros((stage.p, len(shifts)))
    clip = math.sqrt(stage.norm**2 - (public.check or 0.0) ** 2)
    z = rng.standard_normal((_DRAWN, q))
    for h, shift in enumerate(shifts):
        mean, variance = _clipped(shift, clip, z)
        spread = math.sqrt(counts[h] * variance) * fleet.more
        error = spread * rng.standard_normal(q)
        sums[:q, h] = counts[h] * mean + error
        if public.check is not None:
            sums[q, h] = counts[h] * public.check * (2.0 * _right(public, h, shift + z) - 1.0)
        T += counts[h] * (variance * within + np.outer(mean, mean))
        T += np.outer(mean, error) + np.outer(error, mean)
        T += spread * math.sqrt(variance) * _symmetric(q, rng)
    if public.check is not None:
        T = np.pad(T, (0, 1))
        T[q, q] = fleet.records * public.check**2
    return {
        "sums": sums.reshape(-1),
        "counts": counts,
        "diagonal": np.diagonal(T),
        "off_diagonal": T[np.triu_indices(stage.p, 1)],
    }


def _right(public: Public, h: int, residuals: Matrix) -> float:
    """The share of such records of a class that are nearest to its own public centre."""
    centres = public.centre_rows()
    scores = (centres[h] + residuals) @ centres.T - 0.5 * (centres**2).sum(axis=1)
    return float(np.mean(scores.argmax(axis=1) == h))


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


def _leading(centres: Matrix, public: Public, within: Matrix, d: int) -> Matrix:
    """The first d directions that tell such slices apart; beyond the map their variance is 1."""
    shares = np.array(public.shares)
    apart = (centres - shares @ centres).T * np.sqrt(shares)
    q = len(within)
    whitening = np.eye(len(apart))
    whitening[:q, :q] = whitening_of(within)
    return np.asarray(whitening @ np.linalg.svd(whitening @ apart, full_matrices=False)[0][:, :d])
