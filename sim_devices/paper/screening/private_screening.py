"""Private ways to an active set on simulated fleets,
from the same noisy sums that devices would publish."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from fsir.arrays import Integers, Matrix
from fsir.estimate.screening import majority, select, slice_matrix
from fsir.estimate.votes import ccmd_votes
from fsir.privacy.plan import SCREENING, Stage, first_stage
from fsir.privacy.quantiser import Quantiser
from fsir.task.task import Screening, Task
from sim_devices.datasets.models import dimension
from sim_devices.paper.cells import Cell, ExperimentError
from sim_devices.paper.exact import ExactMoments
from sim_devices.paper.merged_release import merged_release
from sim_devices.paper.screening.ways import LIMIT, Way, high_task

EXPECTED_FALSE = 1.0  # features that a funnel keeps by chance


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """The truncated records that devices keep between reports,
    and the clipped slice sums of all features."""

    n: int
    # Clients x records x p, of which the first n count for the private ways.
    kept: NDArray[np.int16]
    slices: Integers  # clients x n
    sums: Matrix  # clients x p x H, clipped over all features
    grid: float

    def first(self, clients: int) -> Rows:
        """The first clients."""
        return replace(
            self, kept=self.kept[:clients], slices=self.slices[:clients], sums=self.sums[:clients]
        )

    @property
    def clients(self) -> int:
        """Number of clients."""
        return len(self.kept)

    def raw(self, features: Sequence[int], everything: bool = False) -> Matrix:
        """Records restricted to some features, not clipped, in plain units:
        clients x n x features."""
        records = self.kept.shape[1] if everything else self.n
        return np.asarray(self.kept[:, :records, list(features)] * self.grid)

    def moments(self, task: Task, stage: Stage, features: Sequence[int]) -> ExactMoments:
        """Exact merged sums of a stage, for the given of all features,
        clipped to the stage's norm."""
        H = self.sums.shape[2]
        p = stage.p
        sums = np.zeros((p, H))
        counts = np.zeros(H)
        second = np.zeros((p, p) if stage.has_second else ())
        if stage.name == SCREENING and p == self.kept.shape[2]:
            sums = self.sums.sum(axis=0)
        else:
            quantiser = Quantiser(task, stage)
            for kept, slices in zip(self.kept, self.slices, strict=True):
                rows = quantiser.clipped(kept[: self.n, list(features)].astype(np.float64))
                one_hot = np.eye(H)[slices]
                sums += rows.T @ one_hot
                counts += one_hot.sum(axis=0)
                if stage.has_second:
                    second += rows.T @ rows
        coded = sums @ np.array(stage.code, dtype=np.float64) if stage.code else sums
        return ExactMoments(self.n * self.clients, coded, counts, second)


def screened(rows: Rows, cell: Cell, way: Way, rng: np.random.Generator) -> tuple[int, ...]:
    """The default: one report about all features,
    from which the aggregator selects by its size rule."""
    task = high_task(cell, way.before, way=way)
    stage = first_stage(task)
    totals = merged_release(stage, rows.moments(task, stage, range(cell.p)), rows.clients, rng)
    d = dimension(cell.model)
    active = select(_rule(task), totals)
    return active if len(active) >= d else strongest(slice_matrix(totals), d)


def _rule(task: Task) -> Screening:
    if task.screening is None:
        raise ExperimentError(f"task {task.name}: has no first report to select from")
    return task.screening


def funnelled(rows: Rows, cell: Cell, way: Way, rng: np.random.Generator) -> tuple[int, ...]:
    """Several reports about fewer and fewer features;
    what earlier ones said about those that are left is kept."""
    features = np.arange(cell.p)
    M = np.zeros(())
    weight = 0.0
    for keep, share in way.stages:
        task = high_task(cell, share, len(features), way)
        stage = first_stage(task)
        totals = merged_release(
            stage, rows.moments(task, stage, features.tolist()), rows.clients, rng
        )
        precision = totals.n**2 / (totals.noises * stage.sums.variance)
        M = (weight * M + precision * slice_matrix(totals)) / (weight + precision)
        weight += precision
        if keep is None:
            sampling = 1.0 / (totals.n * stage.columns)
            lengths = (M**2).sum(axis=1) / (1.0 / weight + sampling)
            chosen = np.flatnonzero(cell.p * chi2.sf(lengths, stage.columns) < EXPECTED_FALSE)
            keep = min(max(len(chosen), dimension(cell.model)), LIMIT)
        left = list(strongest(M, keep))
        features, M = features[left], M[left]
    return tuple(features.tolist())


def strongest(M: Matrix, keep: int) -> tuple[int, ...]:
    """The features with the longest rows, in order."""
    return tuple(sorted(np.argsort(-np.linalg.norm(M, axis=1), kind="stable")[:keep].tolist()))


def voted(rows: Rows, cell: Cell, way: Way, rng: np.random.Generator) -> tuple[int, ...]:
    """Votes that every device computes from its own noisy slice sums; only indices leave it.

    The threshold is the paper's sqrt(log p) standard deviations of a conditional slice mean, the
    noise counted in.
    """
    task = high_task(cell, way.before, way=way)
    H = rows.sums.shape[2]
    stage = first_stage(task)
    n_h = cell.n / H
    sd = stage.sums.sd
    threshold = math.sqrt(math.log(cell.p) * (1.0 / n_h + (sd / n_h) ** 2))
    votes = np.zeros(cell.p, np.int64)
    for sums, slices in zip(rows.sums, rows.slices, strict=True):
        # Counts ride along at full weight where no second moment is released, hence sd / C.
        exact = np.bincount(slices, minlength=H).astype(np.float64)
        counts = exact + sd / stage.norm * rng.standard_normal(H)
        noisy = sums * rows.grid + sd * rng.standard_normal(sums.shape)
        votes += ccmd_votes(noisy, counts, cell.n, threshold).sum(axis=1)
    active = majority(votes, rows.clients)
    if dimension(cell.model) <= len(active) <= LIMIT:
        return active
    keep = max(dimension(cell.model), min(len(active), LIMIT))
    return strongest(votes[:, None].astype(np.float64), keep)
