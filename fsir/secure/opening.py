"""How two aggregators open the sum of a cohort: each adds all noise before it shows its part.

Whoever calls `noised_sum` twice for the same reports with fresh noise opens them twice: the answer
must be stored, together with the reports that it is about, before anybody sees it.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Integers
from fsir.privacy.noise import Noise
from fsir.privacy.plan import Stage
from fsir.secure.ring import Residues, Ring


def aggregator_noise(stage: Stage, noise: Noise) -> Integers:
    """What one aggregator adds to a sum: rounded Gaussians, in published steps."""
    drawn = [
        noise.perturb(np.zeros(block.size), block.added / block.unit, block.step)
        for block in stage.blocks
    ]
    return np.concatenate(drawn)


def noised_sum(stage: Stage, ring: Ring, shares: list[Residues], noise: Noise) -> Residues:
    """The sum of one aggregator's shares of a cohort, as it may be shown."""
    return ring.added([*shares, ring.residues(aggregator_noise(stage, noise))])


def opened(ring: Ring, leader: Residues, helper: Residues) -> Integers:
    """The sum over a cohort of what devices have published, with the noise of both aggregators."""
    return ring.lift(ring.added([leader, helper]))
