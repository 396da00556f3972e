"""The mechanisms of the paper, kept to reproduce and to audit it, each with a statement of what is proven about it.

`iid` is the classical Gaussian mechanism on the slice sums and the paper's covariance lemma, with a public clip
instead of a norm taken from the data (erratum E7). `vgm` is the paper's vectorised Gaussian mechanism with errata E1
and E2 mended: a floor that is a variance, and eigengaps that are positive. It does not meet its claim (erratum E3):
it draws the noise along the private singular vectors. `none` adds nothing. See docs/privacy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsir.privacy import accounting
from fsir.privacy.noise import Noise

if TYPE_CHECKING:
    from fsir.privacy.plan import Stage
    from fsir.task.task import Task

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Statement:
    """What is known about a mechanism, for programs and people."""

    mechanism: str
    proven: bool
    reason: str


def statement(task: Task) -> Statement:
    """Whether the release of this task is proven to meet the (epsilon, delta) that it claims, and why."""
    mechanism = task.privacy.mechanism
    if mechanism == "gaussian":
        return Statement(
            mechanism,
            True,
            "one joint Gaussian release, exact accounting (docs/privacy.md, theorem 1)",
        )
    if mechanism == "vgm":
        return Statement(
            mechanism,
            False,
            "its covariance comes from the private data: a single record can be seen (E3)",
        )
    if mechanism == "none":
        return Statement(mechanism, False, "no noise at all: the report is the data's own sums")
    from fsir.privacy.plan import (  # the plan needs this module
        final_stage,
        first_stage,
        published_values,
        sampling_charge,
    )

    # The lemma asks for less noise with fewer features: an active set of one is the worst case.
    stages = [first_stage(task)] + ([] if task.screening is None else [final_stage(task, (0,))])
    costs = [stage.mu for stage in stages]
    fresh = task.screening is not None and task.screening.records == "fresh"
    mu = max(costs) if fresh else accounting.compose(*costs)
    charge = sampling_charge(published_values(task), task.privacy.epsilon)
    delta = min(1.0, accounting.delta_of(mu, task.privacy.epsilon - charge[0]) + charge[1])
    met = delta <= task.privacy.delta
    found = f"exact delta at epsilon {task.privacy.epsilon:g} is {delta:.2e}, claimed {task.privacy.delta:.2e}"
    return Statement(
        mechanism, met, f"classical Gaussian noise (docs/privacy.md, theorem 2): {found}"
    )


def eigengaps(singular_values: NDArray[np.float64], p: int) -> NDArray[np.float64]:
    """`r_j = s_j - s_{j+1}` for the p singular values, those beyond the rank being 0 (erratum E2: not negative)."""
    s = np.zeros(p + 1)
    s[: len(singular_values)] = singular_values
    return s[:-1] - s[1:]


def vgm_floor(C: float, n: int, epsilon: float, delta: float) -> float:
    """The smallest variance of the noise on a slice mean (erratum E1), for records of norm at most `C`."""
    return 8.0 * C * C * math.log(2.0 / delta) / (n * n * epsilon * epsilon)


def vgm_noise(M: Matrix, floor: float, Z: Matrix, d: int | None = None) -> Matrix:
    """Algorithm 2 of the paper: noise `W V^(1/2) Z` along the left singular vectors `W` of the slice means `M`."""
    p = M.shape[0]
    W, s, _ = np.linalg.svd(M, full_matrices=True)
    gaps = eigengaps(s, p)
    if d is None:  # by ranking the gaps; the last one does not separate anything
        d = int(np.argmax(gaps[: p - 1])) + 1 if p > 1 else 1
    variances = np.full(p, floor)
    variances[:d] += gaps[:d]
    noise: Matrix = W @ (np.sqrt(variances)[:, None] * Z)
    return noise


def with_vgm_noise(sums: Matrix, n: int, stage: Stage, noise: Noise) -> Matrix:
    """Slice sums in grid steps, with the noise of VGM, rounded to whole steps."""
    M = sums * stage.sums.unit / n
    Z = noise.normals(M.size).reshape(M.shape)
    E = vgm_noise(M, (stage.sums.sd / n) ** 2, Z)
    perturbed: Matrix = np.rint(sums + n * E / stage.sums.unit)
    return perturbed
