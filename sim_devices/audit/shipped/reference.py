"""What a report must say, by the theorems of docs/privacy.md and not by the code that makes it.

Quantising, clipping, adding up and calibrating the noise are done a second time here, from the
public task alone. Where the shipped code and these few lines disagree, the audit sees it in the
published bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from fsir.arrays import Integers, Matrix
from fsir.privacy import plan
from fsir.task.public_map import Public
from fsir.task.task import Task

_JUST_BELOW_ONE = 1.0 - 2.0**-50

Stream = tuple[Matrix, Sequence[Any]]  # records and responses


@dataclass(frozen=True, eq=False)
class Expected:
    """The law of the numbers in one report: exact sums, and the noise that each must have."""

    stage: plan.Stage
    mean: Matrix
    sd: Matrix
    mu: float

    @property
    def worth(self) -> Matrix:
        """What one published integer stands for, number by number; public, for who reads it."""
        return np.concatenate([np.full(block.size, block.worth) for block in self.stage.blocks])

    def name(self, index: int) -> str:
        """Where a number stands in the report, for people."""
        for block, span in zip(self.stage.blocks, self.stage.spans, strict=True):
            if span.start <= index < span.stop:
                return f"{block.name}[{index - span.start}] of the {self.stage.name} report"
        raise IndexError(index)


def stage_named(task: Task, name: str) -> plan.Stage:
    """The stage of a report; the final one is about the features that `agent` makes active."""
    first = plan.first_stage(task)
    if first.name == name or task.screening is None:
        return first
    return plan.final_stage(task, tuple(range(task.screening.limit)))


def stage_names(task: Task) -> list[str]:
    """The reports of a device, in order."""
    return [plan.FINAL] if task.screening is None else [plan.SCREENING, plan.FINAL]


def expected(task: Task, name: str, stream: Stream) -> Expected:
    """What the report of a stage must say about a stream."""
    stage = stage_named(task, name)
    X, y = _rows_of(task, name, stream)
    norm = _norm(task, name)
    slices = task.slicing.slices_of(np.asarray(y))
    mean = np.concatenate(blocks_of(stage, rows_of(task, stage, X, slices), slices))
    mu, by_block = _noise(task, stage, norm)
    sds = [np.full(block.size, sd) for block, sd in zip(stage.blocks, by_block, strict=True)]
    return Expected(stage, mean, np.concatenate(sds), mu)


def total_mu(task: Task) -> float:
    """The largest cost that (epsilon, delta) pays for: the shift of a Gaussian (lemma 0)."""
    epsilon = task.privacy.epsilon
    delta = task.privacy.delta

    def excess(mu: float) -> float:
        a = epsilon / mu
        return float(ndtr(mu / 2 - a) - math.exp(epsilon + log_ndtr(-mu / 2 - a))) - delta

    return float(brentq(excess, 1e-6, 200.0, xtol=1e-14))


def _rows_of(task: Task, name: str, stream: Stream) -> Stream:
    """The records that a stage is about."""
    X, y = stream
    n = plan.report_size(task)
    start = n if task.asks_for_fresh_records and name == plan.FINAL else 0
    return X[start : start + n], y[start : start + n]


def _norm(task: Task, name: str) -> float:
    """How long a record may be in a stage."""
    screening = task.screening
    if task.public is not None:
        return math.sqrt(task.clip.norm**2 + (task.public.check or 0.0) ** 2)
    if screening is None or name == plan.SCREENING:
        return min(task.clip.norm, task.clip.truncate * math.sqrt(task.p))
    p = screening.limit
    factor = screening.final_norm_factor
    norm = screening.final_norm if factor is None else factor * math.sqrt(p)
    return min(norm or math.inf, task.clip.truncate * math.sqrt(p))


def rows_of(task: Task, stage: plan.Stage, X: Matrix, slices: Integers) -> Matrix:
    """Rows on the public grid, truncated and clipped, in the units of the task."""
    norm = _norm(task, stage.name)
    if task.public is not None:
        return _mapped_rows(task, task.public, X, slices, norm)
    grid = _grid(task.clip.truncate, 14)
    K = _truncated(task, X, grid, list(stage.features))
    return _clipped(K, norm / grid) * grid


def _mapped_rows(task: Task, public: Public, X: Matrix, slices: Integers, norm: float) -> Matrix:
    """Rows of a task with a public map, of at most `norm`; the check, if there is one, is last."""
    grid = _grid(norm, 14)
    V, centres, unit = _mapped(task, public, X)
    longest = task.clip.norm / grid
    reach = math.floor(longest)
    residual = (V - centres[slices]).astype(np.float64) * (unit / grid)
    K = np.trunc(np.clip(residual, -reach, reach))
    if public.check is None:
        return _clipped(K, longest) * grid
    steps = math.floor(public.check / grid)
    left = math.floor(Fraction(norm / grid) ** 2) - steps**2
    K = _clipped(K, math.sqrt(min(left, math.floor(Fraction(longest) ** 2))))
    right = np.array([_nearest(v, centres, unit / grid) for v in V]) == slices
    return np.column_stack([K, np.where(right, steps, -steps)]) * grid


def _clipped(K: Matrix, longest: float) -> Matrix:
    """Whole numbers in rows, the long ones scaled down."""
    lengths = np.sqrt((K * K).sum(axis=1, keepdims=True))
    shrinkage = longest / np.maximum(lengths, 1.0) * _JUST_BELOW_ONE
    clipped: Matrix = np.where(lengths > longest, np.trunc(K * shrinkage), K)
    return clipped


def _nearest(v: Integers, centres: Integers, to_grid: float) -> int:
    """The class whose centre is nearest to a mapped record; the first of several."""
    middle = (centres.min(axis=0) + centres.max(axis=0)) // 2
    w = np.trunc(np.clip((v - middle) * to_grid, -(2**20), 2**20)).astype(np.int64)
    g = np.rint((centres - middle) * to_grid).astype(np.int64)
    return int(np.argmin([((w - centre) ** 2).sum() for centre in g]))


def _grid(reach: float, bits: int) -> float:
    return float(2.0 ** math.ceil(math.log2(reach) - bits - 1e-12))


def _truncated(task: Task, X: Matrix, grid: float, features: list[int]) -> Matrix:
    """Features in whole steps of a grid."""
    centre = np.array(task.features.centre)[features]
    scale = np.array(task.features.scale)[features]
    reach = math.floor(task.clip.truncate / grid)
    K: Matrix = np.trunc(np.clip((X[:, features] - centre) * (1.0 / (scale * grid)), -reach, reach))
    return K


def _mapped(task: Task, public: Public, X: Matrix) -> tuple[Integers, Integers, float]:
    """Mapped records and centres in 64-bit integers, one record at a time, and their unit."""
    grid = _grid(task.clip.truncate, 20)
    K = _truncated(task, X, grid, list(range(task.p))).astype(np.int64)
    P = public.matrix(task.p)
    shift = -64
    while np.abs(np.rint(P * 2.0 ** (shift + 1))).sum(axis=0).max() <= 2.0**32:
        shift += 1
    whole = np.rint(P * 2.0**shift).astype(np.int64)
    centres = np.rint(public.centre_rows() / grid * 2.0**shift).astype(np.int64)
    rows = np.array([(row[:, None] * whole).sum(axis=0) for row in K])
    return rows, centres, grid / 2.0**shift


def blocks_of(stage: plan.Stage, K: Matrix, slices: Integers) -> list[Matrix]:
    """The blocks of a report before any noise."""
    one_hot = (slices[:, None] == np.arange(stage.slices)).astype(np.float64)
    columns = one_hot @ (np.array(stage.code) / 1024.0) if stage.code else one_hot
    second = K.T @ K if stage.has_second else np.empty((0, 0))
    return [
        (K.T @ columns).reshape(-1),
        np.empty(0) if stage.code else one_hot.sum(axis=0),
        np.diagonal(second),
        second[np.triu_indices(len(second), 1)],
    ]


def _noise(task: Task, stage: plan.Stage, norm: float) -> tuple[float, tuple[float, ...]]:
    """The cost of a stage and the noise of its blocks, by theorem 1 and its corollaries."""
    if task.privacy.mechanism != "gaussian":  # the paper's formulas: only `plan` has them
        return stage.mu, tuple(block.sd for block in stage.blocks)
    mu = total_mu(task)
    if task.screening is not None and not task.asks_for_fresh_records:
        share = task.screening.share
        mu *= math.sqrt(share if stage.name == plan.SCREENING else 1.0 - share)
    each = mu / task.privacy.unit_records
    if not stage.has_second:
        sums = 2.0 * norm / each
        return mu, (sums, sums / norm, math.inf, math.inf)
    x = task.privacy.split or 2.0
    B = (each / (1.0 + x / 2.0)) ** 2
    sums = norm * math.sqrt(2.0 / (x * B))
    second = norm * norm * math.sqrt(2.0 / B)
    return mu, (sums, sums / (norm * math.sqrt(x) / 2.0), second, second / math.sqrt(2.0))
