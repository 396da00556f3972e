"""How sure a device must be before it holds a report, and what deciding so costs.

A report is held if the records that speak against some fault are too few. That decision is seen,
because a report that is held does not come; so it is made from a noisy number, like everything that
leaves the device, and costs `mu / 4` of what the task costs (docs/privacy.md, proposition 12).
"""

from __future__ import annotations

import math

import numpy as np

from fsir.privacy.accounting import mu_of
from fsir.privacy.noise import RESOLUTION, Noise
from fsir.task.task import Task

SHARE = 0.25  # of the cost of the whole task
FEWEST_SDS = 6.0  # a report about fewer records is too small to be judged under this noise
SURE_SDS = 2.0  # records below this many standard deviations may be none
CLEAR_SDS = 4.0  # beyond that, nothing more changes the decision


class Certain:
    """For the owner's eyes, who may see everything: no noise."""

    sd = 0.0  # of the decision, in records

    def fewest(self, n: int, share: float) -> int:
        """The fewest of `n` records that must speak against a fault; a public number."""
        return math.ceil(max(SURE_SDS * self.sd, share * n))


class Threshold(Certain):
    """The noise of the decision about one report of a task, and what follows from it."""

    def __init__(self, task: Task) -> None:
        self.mu = SHARE * mu_of(task.privacy.epsilon, task.privacy.delta)
        self.sd = task.privacy.unit_records / self.mu

    def judges(self, n: int) -> bool:
        """Whether a report about `n` records can be judged."""
        return n >= FEWEST_SDS * self.sd

    def enough(self, n: int, share: float) -> int:
        """So many, and more make no difference."""
        return self.fewest(n, share) + math.ceil(CLEAR_SDS * self.sd)

    def holds(self, margin: int, noise: Noise) -> bool:
        """Decide, once: is this many records more than must be, with noise, below 0?

        Whoever calls this twice for the same records pays twice.
        """
        exponent = math.floor(math.log2(self.sd / RESOLUTION) + 1e-9)
        step = 2 ** max(0, exponent)
        return int(noise.perturb(np.array([float(margin)]), self.sd, step)[0]) < 0
