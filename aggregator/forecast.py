"""What a task will give before any device has reported: an invented federation goes through the real estimator."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from fsir.estimate import trimming as aggregation
from fsir.estimate.subspace import estimate, projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.plan import Stage, final_stage
from fsir.task.task import TRIMMED, Task
from fsir.wire.codec import pack

_FEDERATIONS = 3  # to average over


def last_stage(task: Task) -> Stage:
    """The final stage with as many features as the active set will most likely have."""
    rule = task.screening
    if rule is None:
        return final_stage(task, tuple(range(task.p)))
    most = {"per_slice": rule.keep * task.slicing.count, "overall": rule.keep}.get(
        rule.select, rule.limit
    )
    return final_stage(task, tuple(range(min(most, rule.limit, task.p))))


def expected_error(task: Task, n: int, devices: int, share: float) -> float:
    """The mean projection loss if the response explains this share of the variance of each direction.

    Slices are equally likely, features are independent, and their variance is what the clip leaves of 1.
    """
    stage = last_stage(task)
    d = min(task.dimension or 1, stage.p, stage.slices - 1)
    fixed = replace(task, dimension=d)
    inflation = aggregation.inflation(devices) if task.aggregation == TRIMMED else 1.0
    rng = np.random.default_rng(1)
    losses = []
    for _ in range(_FEDERATIONS):
        U = np.linalg.qr(rng.normal(size=(stage.p, d)))[0]
        totals = _invent(stage, n, devices, share, U, rng, inflation)
        losses.append(projection_loss(estimate(fixed, totals).basis, U))
    return float(np.mean(losses))


def _invent(
    stage: Stage,
    n: int,
    devices: int,
    share: float,
    U: np.ndarray,
    rng: np.random.Generator,
    inflation: float,
) -> Totals:
    p, H, N, d = stage.p, stage.slices, n * devices, U.shape[1]
    more = math.sqrt(inflation)  # trimming raises all noise
    variance = min(1.0, stage.norm**2 / p)
    contrasts = np.linalg.qr(np.column_stack([np.ones(H), rng.normal(size=(H, d))]))[0][:, 1:]
    M = math.sqrt(variance * share / H) * U @ contrasts.T
    sampling = more * math.sqrt(variance * N / H)
    upper = rng.normal(0.0, more * variance * math.sqrt(N), p * (p - 1) // 2)
    exact = {
        "sums": (N * M + sampling * rng.normal(size=(p, H))).reshape(-1),
        "counts": np.full(H, N / H),
        "diagonal": N * variance * (1.0 + more * math.sqrt(2.0 / N) * rng.normal(size=p)),
        "off_diagonal": upper,
    }
    totals = Totals(stage)
    totals.n, totals.devices, totals.inflation = N, devices, inflation
    for block, total in zip(stage.blocks, totals.blocks, strict=True):
        noise = more * block.sd * math.sqrt(devices) * rng.normal(size=block.size)
        total[...] = np.rint((exact[block.name] + noise) / block.worth).astype(np.int64)
    return totals


def report_bytes(stage: Stage) -> int:
    """About how long a report is: noise takes nearly all of it."""
    rng = np.random.default_rng(1)
    packed = pack(
        [np.rint(rng.normal(0.0, b.sd / b.worth, b.size)).astype(np.int64) for b in stage.blocks]
    )
    return len(packed.unary) + len(packed.remainders) + 100
