"""What a task will give before any device has reported.

An invented federation goes through the real estimator.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from aggregator.tasks.invented import Fleet
from fsir.arrays import Matrix
from fsir.estimate.subspace import estimate, projection_loss
from fsir.privacy.plan import Stage, final_stage
from fsir.task.task import Task

_FEDERATIONS = 3  # to average over


def last_stage(task: Task) -> Stage:
    """The final stage with as many features as the active set will most likely have."""
    rule = task.screening
    if rule is None:
        return final_stage(task, tuple(range(task.p)))
    chosen = {"per_slice": rule.keep * task.slicing.count, "overall": rule.keep}
    most = chosen.get(rule.select, rule.limit)
    return final_stage(task, tuple(range(min(most, rule.limit, task.p))))


def expected_error(task: Task, n: int, devices: int, share: float) -> float:
    """The mean projection loss if the response explains this share of each direction's variance.

    Slices are equally likely, features are independent, and their variance is what the clip leaves
    of 1.
    """
    stage = last_stage(task)
    d = directions(task, stage)
    fixed = replace(task, dimension=d)
    fleet = Fleet.of(task, stage, n, devices)
    rng = np.random.default_rng(1)
    losses = []
    for _ in range(_FEDERATIONS):
        U = np.linalg.qr(rng.normal(size=(stage.p, d)))[0]
        totals = fleet.totals(_sums(fleet, share, U, rng), rng)
        losses.append(projection_loss(estimate(fixed, totals).basis, U))
    return float(np.mean(losses))


def directions(task: Task, stage: Stage) -> int:
    """How many directions a forecast is about: one, if `auto`."""
    return min(task.dimension or 1, stage.p, stage.slices - 1)


def _sums(fleet: Fleet, share: float, U: Matrix, rng: np.random.Generator) -> dict[str, Matrix]:
    """The sums over all records, before noise, if the response depends on the directions U, p x d.

    The order of the draws is part of the result.
    """
    N = fleet.records
    more = fleet.more
    H = fleet.stage.slices
    p, d = U.shape
    variance = min(1.0, fleet.stage.norm**2 / p)
    contrasts = np.linalg.qr(np.column_stack([np.ones(H), rng.normal(size=(H, d))]))[0][:, 1:]
    M = math.sqrt(variance * share / H) * U @ contrasts.T
    sampling = more * math.sqrt(variance * N / H)
    upper = rng.normal(0.0, more * variance * math.sqrt(N), p * (p - 1) // 2)
    sums = (N * M + sampling * rng.normal(size=(p, H))).reshape(-1)
    diagonal = N * variance * (1.0 + more * math.sqrt(2.0 / N) * rng.normal(size=p))
    return {
        "sums": sums,
        "counts": np.full(H, N / H),
        "diagonal": diagonal,
        "off_diagonal": upper,
    }
