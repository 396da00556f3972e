"""What an estimate remembers: the rounds that it adds up, and with which weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.rounds.drift import Drift, find_drift
from fsir.estimate.rounds.history import Covariance, History, covariance_of
from fsir.estimate.totals import Totals
from fsir.privacy.plan import Block, Stage
from fsir.task.task import Task


@dataclass(frozen=True, eq=False)
class Remembered:
    """What an estimate is made from."""

    totals: Totals
    weights: dict[int, float]  # of the rounds that are used
    since: int  # the first of them; 0 before there is one
    drift: Drift | None  # a change that noise does not explain, whether or not it is remembered


def remember(task: Task, history: History) -> Remembered:
    """The totals that the memory of a task leaves, and whether anything has changed.

    With `auto` it reaches back to the last change that noise does not explain.
    """
    covariance = covariance_of(history)
    pooled = _totals(history, covariance, dict.fromkeys(history.rounds, 1.0))
    drift = find_drift(task, history, covariance, pooled)
    weights = _weights(task, history, drift)
    totals = _totals(history, covariance, weights)
    return Remembered(totals, weights, min(weights, default=0), drift)


def _weights(task: Task, history: History, drift: Drift | None) -> dict[int, float]:
    memory = task.memory
    last = history.last
    if memory.memory == "auto":
        since = 1 if drift is None else drift.since
        return {t: 1.0 for t in history.rounds if t >= since}
    if memory.span is None:
        return dict.fromkeys(history.rounds, 1.0)
    if memory.memory == "window":
        return {t: 1.0 for t in history.rounds if t > last - memory.span}
    return {t: 0.5 ** ((last - t) / memory.span) for t in history.rounds}


def totals_of(history: History, weights: Mapping[int, float]) -> Totals:
    """The rounds added up with these weights, as totals that an estimate can start from.

    They are scaled to the number of records whose plain mean would be as exact as this weighted
    one, `(sum of w n)^2 / (sum of w^2 n)`. Rounds without a weight are left out.
    """
    return _totals(history, covariance_of(history), weights)


def _totals(history: History, covariance: Covariance, weights: Mapping[int, float]) -> Totals:
    totals = Totals(history.stage)
    w = np.array([weights.get(t, 0.0) for t in history.rounds])
    n = np.array([history.records[t] for t in history.rounds], dtype=np.float64)
    weighted = float(w @ n)
    if weighted <= 0.0:
        return totals
    totals.n = max(1, round(weighted**2 / float(w * w @ n)))
    totals.scale = totals.n / weighted
    totals.devices = covariance.devices(w)
    totals.noise = totals.scale**2 * _noise(history.stage, covariance, w)
    totals.blocks = _blocks(history, w)
    return totals


def _blocks(history: History, w: Matrix) -> tuple[Matrix, ...]:
    rows = [history.sums[t] for t in history.rounds]
    total = sum(weight * row for weight, row in zip(w, rows, strict=True) if weight > 0.0)
    return tuple(np.asarray(total, dtype=np.float64)[span] for span in history.stage.spans)


def _noise(stage: Stage, covariance: Covariance, w: Matrix) -> float:
    """The variance of the noise of a value, in units of one report.

    Noise takes back what it added in earlier rounds, the rounding of published values does not.
    Blocks differ in how coarsely they are rounded: what holds is the value of the worst.
    """
    noise = float(w @ covariance.noise @ w)
    rounding = float(w * w @ np.diagonal(covariance.shared))
    share = max(_rounding_share(block) for block in stage.blocks if block.size)
    return noise + share * max(rounding - noise, 0.0)


def _rounding_share(block: Block) -> float:
    """How much of the variance of a published value is that of its rounding."""
    return 1.0 - block.sd**2 / block.variance if block.variance > 0.0 else 0.0
