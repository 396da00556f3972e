"""From a task to its stages: what a report holds, on which grids, with how much noise, at what cost.

Everything here follows from the public task alone, so that device and server agree on it without a word, and the
device does not have to trust the server about any of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fsir.errors import TaskError
from fsir.privacy import accounting, paper
from fsir.privacy.noise import FAR_MASS, RELATIVE_ERROR, sampling_error
from fsir.task.task import Task

SCREENING, FINAL = "screening", "final"
RESOLUTION = 8  # published values are rounded to between 1/8 and 1/16 of their noise
CODE_UNIT = 1024  # response codes are whole multiples of 1/1024
_STEPS_TO_R = 14  # a truncated coordinate has at most 2^14 steps, so that it fits 16 bits


@dataclass(frozen=True)
class Block:
    """One block of the integer vector that a report holds."""

    name: str
    size: int
    unit: float  # what one accumulated integer is worth
    sd: float  # of the noise, in the same units as the data
    step: int  # accumulated integers per published integer, a power of two

    @property
    def worth(self) -> float:
        """What one published integer is worth."""
        return self.unit * self.step

    @property
    def variance(self) -> float:
        """Of a published value around the true sum: noise, and rounding to the step."""
        rounding = self.worth**2 / 12 if self.sd > 0 or self.step > 1 else 0.0
        return self.sd**2 + rounding


@dataclass(frozen=True)
class Stage:
    """One report of a device: its features, geometry, blocks and cost."""

    name: str
    mechanism: str
    features: tuple[int, ...]  # indices into the features of the task
    slices: int
    truncate: float
    norm: float
    grid: float  # the step of the public grid on which records are quantised
    mu: float  # cost for one unit of `unit_records` records; infinite where nothing is proven
    epsilon: float  # this stage's share in the formulas of the paper (iid, vgm)
    delta: float
    code: tuple[
        tuple[int, ...], ...
    ]  # slices x columns, in units of 1/CODE_UNIT; empty: one column per slice
    sums: Block
    counts: Block
    diagonal: Block
    off_diagonal: Block

    @property
    def p(self) -> int:
        """Number of features in this stage."""
        return len(self.features)

    @property
    def columns(self) -> int:
        """Columns of the sums: one per slice, or one per dimension of the response code."""
        return len(self.code[0]) if self.code else self.slices

    @property
    def blocks(self) -> tuple[Block, Block, Block, Block]:
        """The layout of the integer vector: sums (feature by feature), counts, diagonal, upper triangle row by row."""
        return self.sums, self.counts, self.diagonal, self.off_diagonal

    @property
    def has_second(self) -> bool:
        """Whether the second moment is released."""
        return self.diagonal.size > 0


def sampling_charge(values: int, epsilon: float) -> tuple[float, float]:
    """What the sampler's error takes from (epsilon, delta) when so many values are published (lemma 3)."""
    far = math.exp(min(epsilon, 700.0)) * FAR_MASS
    return values * RELATIVE_ERROR, values * (sampling_error(2.0 * RESOLUTION) + far)


def published_values(task: Task) -> int:
    """The most values that a device publishes in all stages together."""
    H = task.slicing.count
    last = task.p if task.screening is None else task.screening.limit
    first = 0 if task.screening is None else task.p * H + H
    return first + last * H + H + last * (last + 1) // 2


def total_mu(task: Task) -> float:
    """The cost that the whole budget of the task pays for, the sampler's error taken out of it first."""
    privacy, values = task.privacy, published_values(task)
    epsilon, delta = sampling_charge(values, privacy.epsilon)
    if delta >= privacy.delta / 2 or epsilon >= privacy.epsilon / 2:
        remedy = f"the sampler's error in {values} values takes {epsilon:.1e} of epsilon and {delta:.1e} of delta"
        field = "epsilon" if epsilon >= privacy.epsilon / 2 or privacy.epsilon > 20 else "delta"
        fix = (
            "raise delta or screen"
            if field == "delta"
            else "choose an epsilon between 0.001 and 30"
        )
        raise TaskError(f"privacy.{field}", getattr(privacy, field), f"{remedy}; {fix}")
    return accounting.mu_of(privacy.epsilon - epsilon, privacy.delta - delta)


def report_size(task: Task) -> int:
    """At how many records a device reports; with a deadline, the most that it may use."""
    return minimum_size(task) if task.report.records is None else task.report.records


def minimum_size(task: Task) -> int:
    """The fewest records of a report: what keeps the noise of every slice mean at or below `sigma_0`."""
    if task.report.sigma_0 is None:
        return 1 if task.report.deadline is not None else report_size(task)
    stages = all_stages(task)
    if not all(stage.sums.sd > 0 for stage in stages):
        raise TaskError(
            "report.sigma_0",
            task.report.sigma_0,
            "says nothing where there is no noise; give records",
        )
    return max(
        accounting.minimum_sample_size(stage.sums.sd, task.report.sigma_0) for stage in stages
    )


def all_stages(task: Task) -> tuple[Stage, ...]:
    """The stages of a task, the final one with as many features as the task allows."""
    if task.screening is None:
        return (first_stage(task),)
    return first_stage(task), final_stage(task, tuple(range(task.screening.limit)))


def first_stage(task: Task) -> Stage:
    """The first report of a device: the screening one, or the only one."""
    everything = tuple(range(task.p))
    return (
        final_stage(task, everything)
        if task.screening is None
        else _stage(task, SCREENING, everything)
    )


@lru_cache(maxsize=64)
def final_stage(task: Task, features: tuple[int, ...]) -> Stage:
    """The final report, on the given features (indices into the task's)."""
    return _stage(task, FINAL, features)


@lru_cache(maxsize=64)
def _stage(task: Task, name: str, features: tuple[int, ...]) -> Stage:
    p, H, R = len(features), task.slicing.count, task.clip.truncate
    C = _norm(task, name, p)
    grid = 2.0 ** math.ceil(math.log2(R) - _STEPS_TO_R - 1e-12)
    second = name == FINAL
    code = _code(task.screening.code, H) if task.screening and name == SCREENING else ()
    share, epsilon, delta = _budget(task, name)
    g = task.privacy.unit_records
    if task.privacy.mechanism == "gaussian":
        mu = total_mu(task) * math.sqrt(share)
        s_M, s_S, c = accounting.free_scales(C, mu / g)
        c = c if second else C  # without the second moment counts may ride along at full weight
        scales = (s_M, s_M / c, s_S, s_S / math.sqrt(2.0))
    elif task.privacy.mechanism == "none":
        mu, scales = math.inf, (0.0, 0.0, 0.0, 0.0)
    else:
        s_M = accounting.classical_sigma(2.0 * C * g, epsilon, delta)
        if (
            task.privacy.mechanism == "vgm"
        ):  # the floor of its covariance; what comes on top depends on the data
            s_M = math.sqrt(paper.vgm_floor(C * g, 1, epsilon, delta))
        s_T = accounting.lemma_sigma(p, 1, epsilon, delta) * C * C * g
        scales = (s_M, s_M / C, s_T, s_T)
        # Sums and counts move by at most 2C together, the upper triangle by at most sqrt(2) C^2 (theorem 2).
        known = accounting.compose(
            2.0 * C * g / s_M, math.sqrt(2.0) * C * C * g / s_T if second else 0.0
        )
        mu = known if task.privacy.mechanism == "iid" else math.inf
    unit = grid / CODE_UNIT if code else grid
    columns = len(code[0]) if code else H
    return Stage(
        name, task.privacy.mechanism, features, H, R, C, grid, mu, epsilon, delta, code,
        _block("sums", p * columns, unit, scales[0]),
        _block("counts", 0 if code else H, 1.0, scales[1]),
        _block("diagonal", p if second else 0, grid * grid, scales[2]),
        _block("off_diagonal", p * (p - 1) // 2 if second else 0, grid * grid, scales[3]),
    )  # fmt: skip


def _norm(task: Task, name: str, p: int) -> float:
    C = task.clip.norm
    if name == FINAL and task.screening is not None:
        factor = task.screening.final_norm_factor
        C = task.screening.final_norm if factor is None else factor * math.sqrt(p)  # type: ignore[assignment]
    return min(C, task.clip.truncate * math.sqrt(p))


def _budget(task: Task, name: str) -> tuple[float, float, float]:
    """One stage's share of mu^2, and (epsilon, delta) that the paper's mechanisms split evenly over their parts."""
    parts = 2 if task.screening is None else 3
    share = 1.0
    if task.screening is not None and task.screening.records == "same":
        share = task.screening.share if name == SCREENING else 1.0 - task.screening.share
    elif (
        task.screening is not None
    ):  # disjoint records: the screening report has it all, the final one two parts
        parts = 1 if name == SCREENING else 2
    return share, task.privacy.epsilon / parts, task.privacy.delta / parts


def _block(name: str, size: int, unit: float, sd: float) -> Block:
    # The 1e-9 keeps the step the same on machines whose logarithms differ in the last bit.
    exponent = math.floor(math.log2(sd / RESOLUTION / unit) + 1e-9) if sd > 0 else 0
    return Block(name, size, unit, sd, 2 ** max(0, exponent))


def _code(kind: str, H: int) -> tuple[tuple[int, ...], ...]:
    """Unit vectors that stand for slices, rounded toward zero (so that no norm exceeds 1)."""
    if kind == "slices":
        return ()
    if kind == "circle":
        angles = 2.0 * np.pi * (np.arange(H) + 0.5) / H
        vectors: NDArray[np.float64] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    else:  # the corners of a regular simplex around 0, in Helmert's coordinates
        rows = [[1.0] * h + [-float(h)] + [0.0] * (H - h - 1) for h in range(1, H)]
        helmert = np.array([np.array(row) / math.sqrt(sum(v * v for v in row)) for row in rows])
        vectors = helmert.T * math.sqrt(H / (H - 1))
    # Half a unit short of 1, so that no corner sits on a rounding edge where machines could differ.
    return tuple(tuple(int(v) for v in row) for row in np.trunc(vectors * (CODE_UNIT - 0.5)))
