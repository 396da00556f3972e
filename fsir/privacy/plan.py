"""From a task to its stages: what a report holds, on which grids, with how much noise.

Everything here follows from the public task alone, so that device and server agree on it without a
word, and the device does not have to trust the server about any of it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from fsir.errors import TaskError
from fsir.privacy import accounting
from fsir.privacy.budget import draws
from fsir.privacy.codes import CODE_UNIT, Code, response_code
from fsir.privacy.noise import RESOLUTION, RESOLUTION_OF_SHARED
from fsir.privacy.rounds.factorisation import INDEPENDENT, Factorisation, factorisation_of
from fsir.privacy.rounds.shared import weight_of
from fsir.privacy.scales import Scales, scales_of, shape_of, share_of
from fsir.task.grid import grid_step
from fsir.task.task import Task

SCREENING = "screening"
FINAL = "final"
_COORDINATE_BITS = 14  # a truncated coordinate has at most 2^14 steps, so that it fits 16 bits


class Block(NamedTuple):
    """One block of the integer vector that a report holds."""

    name: str
    size: int
    unit: float  # what one accumulated integer is worth
    sd: float  # of the noise (of the first round), in the same units as the data
    step: int  # accumulated integers per published integer, a power of two
    added: float = 0.0  # sd of what each of two aggregators adds to a sum, where there are such

    @property
    def worth(self) -> float:
        """What one published integer is worth."""
        return self.unit * self.step

    @property
    def variance(self) -> float:
        """Of a published value around the true sum: noise, and rounding to the step."""
        rounding = self.worth**2 / 12 if self.sd > 0 or self.step > 1 else 0.0
        return self.sd**2 + rounding


class Stage(NamedTuple):
    """One report of a device: its features, geometry, blocks and cost."""

    name: str
    mechanism: str
    offered: bool  # a report is about so many offered records, of which refused ones are null
    features: tuple[int, ...]  # indices into the features of the task, which a record must have
    coordinates: int  # numbers that these become: as many, or by a map others; a check is last
    slices: int
    truncate: float  # of a coordinate: R, or after a map the norm
    norm: float
    grid: float  # the step of the public grid on which records are quantised
    mu: float  # cost for one unit of `unit_records` records; infinite where nothing is proven
    epsilon: float  # this stage's share in the formulas of the paper (iid, vgm)
    delta: float
    code: Code  # empty: one column per slice
    sums: Block
    counts: Block
    diagonal: Block
    off_diagonal: Block
    factorisation: Factorisation = INDEPENDENT  # of the noise of rounds
    cohort: int | None = None  # only sums over so many devices are ever seen, if one is honest

    @property
    def p(self) -> int:
        """Numbers per record that the report is about."""
        return self.coordinates

    @property
    def columns(self) -> int:
        """Columns of the sums: one per slice, or one per dimension of the response code."""
        return len(self.code[0]) if self.code else self.slices

    @property
    def blocks(self) -> tuple[Block, Block, Block, Block]:
        """The layout of the integer vector, public and fixed (see `fsir.privacy.release`)."""
        return self.sums, self.counts, self.diagonal, self.off_diagonal

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many integers each block has."""
        return tuple(block.size for block in self.blocks)

    @property
    def spans(self) -> tuple[slice, ...]:
        """Where each block stands in the integer vector."""
        ends = accumulate(self.sizes)
        return tuple(slice(end - size, end) for size, end in zip(self.sizes, ends, strict=True))

    @property
    def numbers(self) -> int:
        """Values whose sampling errors a record bears, in terms of those of a single report.

        Where noise is correlated, these are the values of all rounds.
        """
        rounds = len(self.factorisation.coefficients)
        weight = weight_of(self.factorisation, self.cohort)
        return sum(self.sizes) * rounds * weight * draws(self.cohort)

    @property
    def mu_if_both_collude(self) -> float:
        """The cost towards two aggregators who open a single report: its own noise is left."""
        return self.mu if self.cohort is None else self.mu * math.sqrt(self.cohort)

    @property
    def has_second(self) -> bool:
        """Whether the second moment is released."""
        return self.diagonal.size > 0


def report_size(task: Task) -> int:
    """At how many records a device reports; with a deadline, the most that it may use."""
    return minimum_size(task) if task.report.records is None else task.report.records


def minimum_size(task: Task) -> int:
    """The fewest records of a report: they keep the noise of every slice mean within `sigma_0`."""
    sigma_0 = task.report.sigma_0
    if sigma_0 is None:
        return 1 if task.report.deadline is not None else report_size(task)
    scales = [stage.sums.sd for stage in all_stages(task)]
    if not all(s_M > 0 for s_M in scales):
        remedy = "says nothing where there is no noise; give records"
        raise TaskError("report.sigma_0", sigma_0, remedy)
    return max(accounting.minimum_sample_size(s_M, sigma_0) for s_M in scales)


def all_stages(task: Task) -> tuple[Stage, ...]:
    """The stages of a task, the final one with as many features as the task allows."""
    if task.screening is None:
        return (first_stage(task),)
    return first_stage(task), final_stage(task, tuple(range(task.screening.limit)))


def first_stage(task: Task) -> Stage:
    """The first report of a device: the screening one, or the only one.

    Returns
    -------
    Stage
        Its features, blocks, noise and cost, which follow from the task alone.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> stage = fsir.first_stage(task)
    >>> stage.name, stage.sizes
    ('final', (4, 2, 2, 1))
    >>> round(stage.mu, 4), round(stage.sums.sd, 1)
    (0.2367, 21.1)
    """
    everything = tuple(range(task.p))
    if task.screening is None:
        return final_stage(task, everything)
    return _stage(task, SCREENING, everything)


@lru_cache(maxsize=64)
def final_stage(task: Task, features: tuple[int, ...]) -> Stage:
    """The final report of a device, on the given features.

    Parameters
    ----------
    task
        The task.
    features
        Indices into the features of the task: the active set, in increasing order.

    Returns
    -------
    Stage
        Its features, blocks, noise and cost, which follow from the task and the active set.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ...     "screening": {"keep": 1, "limit": 1, "final_norm": 1.5},
    ... })
    >>> fsir.first_stage(task).name, fsir.first_stage(task).sizes
    ('screening', (4, 2, 0, 0))
    >>> fsir.final_stage(task, (1,)).sizes
    (2, 2, 1, 0)
    """
    return _stage(task, FINAL, features)


@lru_cache(maxsize=64)
def _stage(task: Task, name: str, features: tuple[int, ...]) -> Stage:
    first_of_two = name == SCREENING
    shape = shape_of(task, len(features), first_of_two=first_of_two)
    share = share_of(task, first_of_two=first_of_two)
    factorisation = INDEPENDENT if first_of_two else factorisation_of(task)
    scales = scales_of(task, shape, share).times(factorisation.norm)
    truncate = task.clip.truncate if task.public is None else shape.norm
    grid = grid_step(truncate, task.clip.bits or _COORDINATE_BITS)
    H = task.slicing.count
    code: Code = ()
    if task.screening is not None and first_of_two:
        code = response_code(task.screening.code, H)
    cohort = None if task.secure is None else task.secure.cohort
    blocks = [
        *_first_moments(shape.p, H, code, grid, scales),
        *_second_moments(shape.p if shape.has_second else 0, grid, scales),
    ]
    return Stage(
        name=name,
        mechanism=task.privacy.mechanism,
        offered=task.counts_refused,
        features=features,
        coordinates=shape.p,
        slices=H,
        truncate=truncate,
        norm=shape.norm,
        grid=grid,
        mu=scales.mu,
        epsilon=share.epsilon,
        delta=share.delta,
        code=code,
        cohort=cohort,
        factorisation=factorisation,
        **{block.name: _stepped(block, cohort, factorisation.resolution) for block in blocks},
    )


def _first_moments(p: int, H: int, code: Code, grid: float, scales: Scales) -> list[Block]:
    columns = len(code[0]) if code else H
    unit = grid / CODE_UNIT if code else grid
    return [
        _block("sums", p * columns, unit, scales.sums),
        _block("counts", 0 if code else H, 1.0, scales.counts),
    ]


def _second_moments(p: int, grid: float, scales: Scales) -> list[Block]:
    above = p * (p - 1) // 2
    return [
        _block("diagonal", p, grid * grid, scales.diagonal),
        _block("off_diagonal", above, grid * grid, scales.off_diagonal),
    ]


def _block(name: str, size: int, unit: float, sd: float) -> Block:
    return Block(name=name, size=size, unit=unit, sd=sd, step=1)


def _stepped(block: Block, cohort: int | None, resolution: int) -> Block:
    """The block with its step: so many of them, or up to twice as many, to a standard deviation."""
    if cohort is not None:
        block = _shared(block, cohort)
        resolution = RESOLUTION_OF_SHARED * resolution // RESOLUTION
    return block._replace(step=_step(block.sd / resolution / block.unit))


def _shared(block: Block, cohort: int) -> Block:
    """The same block where a device brings its part of the noise, and each aggregator all of it."""
    return block._replace(sd=block.sd / math.sqrt(cohort), added=block.sd)


def _step(largest: float) -> int:
    """The largest power of two that is not larger; at least 1."""
    # The 1e-9 keeps the step the same on machines whose logarithms differ in the last bit.
    exponent = math.floor(math.log2(largest) + 1e-9) if largest > 0 else 0
    return 1 << max(0, exponent)
