"""How much noise each block of a report gets, and what it costs, by mechanism."""

from __future__ import annotations

import math
from typing import NamedTuple

from fsir.errors import TaskError
from fsir.privacy import accounting
from fsir.privacy.budget import total_mu
from fsir.task.task import Screening, Task


class Share(NamedTuple):
    """What one stage has of the budget.

    `mu_squared` is its part of mu^2. The paper's mechanisms split (epsilon, delta) evenly over the
    parts of their release instead.
    """

    mu_squared: float
    epsilon: float
    delta: float


class Scales(NamedTuple):
    """Standard deviations of the noise on each block, and the cost of all of them together."""

    mu: float  # for one unit of data; infinite where nothing is proven
    sums: float
    counts: float
    diagonal: float
    off_diagonal: float

    def times(self, factor: float) -> Scales:
        """So many times the noise, for rounds that cost the same together."""
        return Scales(
            mu=self.mu,
            sums=factor * self.sums,
            counts=factor * self.counts,
            diagonal=factor * self.diagonal,
            off_diagonal=factor * self.off_diagonal,
        )


class Shape(NamedTuple):
    """What the noise of a stage depends on: numbers per record, clip, whether it has squares."""

    p: int
    norm: float
    has_second: bool


def shape_of(task: Task, p: int, *, first_of_two: bool) -> Shape:
    """The first of two reports on p features, or the last one, which may be the only one."""
    C = task.clip.norm
    if task.public is not None:  # what a mapped record may reach has nothing to do with R sqrt(p)
        return Shape(task.numbers, _mapped_norm(C, task.public.check), has_second=True)
    if task.screening is not None and not first_of_two:
        C = _final_norm(task.screening, p)
    return Shape(p, min(C, task.clip.truncate * math.sqrt(p)), has_second=not first_of_two)


def _mapped_norm(C: float, check: float | None) -> float:
    """How long a mapped record can be, with the number of its check if it has one."""
    if check is None:
        return C
    # Not `hypot`, whose last bit is another one on other machines.
    return math.sqrt(C * C + check * check)


def _final_norm(screening: Screening, p: int) -> float:
    if screening.final_norm_factor is not None:
        return screening.final_norm_factor * math.sqrt(p)
    if screening.final_norm is not None:
        return screening.final_norm
    raise TaskError("screening.final_norm", None, "is missing; add it")


def share_of(task: Task, *, first_of_two: bool) -> Share:
    """The share of the first of two reports, or that of the last one, which may be the only one."""
    epsilon = task.privacy.epsilon
    delta = task.privacy.delta
    if task.screening is None:
        return Share(1.0, epsilon / 2, delta / 2)
    if task.asks_for_fresh_records:
        # Disjoint records: the screening report has it all, the final one in two parts.
        parts = 1 if first_of_two else 2
        return Share(1.0, epsilon / parts, delta / parts)
    share = task.screening.share
    return Share(share if first_of_two else 1.0 - share, epsilon / 3, delta / 3)


def scales_of(task: Task, shape: Shape, share: Share) -> Scales:
    """The noise of a stage under the mechanism of its task."""
    if task.privacy.mechanism == "gaussian":
        mu = total_mu(task) * math.sqrt(share.mu_squared)
        return _gaussian(shape, mu, task.privacy.unit_records, task.privacy.split)
    if task.privacy.mechanism == "none":
        return Scales(mu=math.inf, sums=0.0, counts=0.0, diagonal=0.0, off_diagonal=0.0)
    return _as_published(task.privacy.mechanism, shape, share, task.privacy.unit_records)


def _gaussian(shape: Shape, mu: float, g: int, split: float | None) -> Scales:
    if split is None or not shape.has_second:
        s_M, s_S, c = accounting.free_scales(shape.norm, mu / g)
    else:
        s_M, s_S, c = accounting.split_scales(shape.norm, mu / g, split)
    if not shape.has_second:  # then counts may ride along at full weight
        c = shape.norm
    return Scales(
        mu=mu,
        sums=s_M,
        counts=s_M / c,
        diagonal=s_S,
        off_diagonal=s_S / math.sqrt(2.0),
    )


def _as_published(mechanism: str, shape: Shape, share: Share, g: int) -> Scales:
    """The mechanisms of the paper, `iid` and `vgm`."""
    from fsir.privacy import paper

    C = shape.norm
    s_M = accounting.classical_sigma(2.0 * C * g, share.epsilon, share.delta)
    if mechanism == "vgm":  # the floor of its covariance; what comes on top depends on the data
        s_M = math.sqrt(paper.vgm_floor(C * g, 1, share.epsilon, share.delta))
    s_T = accounting.lemma_sigma(shape.p, 1, share.epsilon, share.delta) * C * C * g
    # Sums and counts move by at most 2C together, the upper triangle by at most sqrt(2) C^2
    # (theorem 2).
    second = math.sqrt(2.0) * C * C * g / s_T if shape.has_second else 0.0
    known = accounting.compose(2.0 * C * g / s_M, second)
    return Scales(
        mu=known if mechanism == "iid" else math.inf,
        sums=s_M,
        counts=s_M / C,
        diagonal=s_T,
        off_diagonal=s_T,
    )
