"""The release: what one report says about the data of a device, and the exact sum of many of them.

The default `gaussian` releases slice sums, slice counts and the second moment together. With the scales of
`accounting.free_scales` the counts and the second moment are free: the whole release costs `mu = 2C/s_M`, what the
slice sums alone would cost (proof: docs/privacy.md, theorem 1). Layout of the integer vector, public and fixed by the
stage:

    sums          p x columns, feature by feature: the sum of x over each slice (or times the response code)
    counts        one per slice
    diagonal      p: the sum of x_j^2
    off_diagonal  p(p-1)/2, row by row above the diagonal: the sum of x_j x_k
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsir.privacy import paper as published
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.plan import CODE_UNIT, Stage

Integers = NDArray[np.int64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Release:
    """The published integers of one device at one stage, about `n` records."""

    n: int
    blocks: tuple[Integers, Integers, Integers, Integers]


def release(moments: Moments, noise: Noise) -> Release:
    """Perturb everything once. Who calls this twice for the same data pays twice."""
    stage = moments.stage
    sums = moments.sums()
    second = moments.second()
    exact = {
        "sums": sums @ np.array(stage.code, dtype=np.float64) if stage.code else sums,
        "counts": moments.counts() if stage.counts.size else np.empty(0),
        "diagonal": np.empty(0) if second is None else np.diagonal(second),
        "off_diagonal": np.empty(0) if second is None else second[np.triu_indices(stage.p, 1)],
    }
    if stage.mechanism == "vgm":
        exact["sums"] = published.with_vgm_noise(exact["sums"], moments.n, stage, noise)
    perturbed = []
    for block in stage.blocks:
        sd = 0.0 if stage.mechanism == "vgm" and block.name == "sums" else block.sd / block.unit
        perturbed.append(noise.perturb(exact[block.name].reshape(-1), sd, block.step))
    return Release(moments.n, (perturbed[0], perturbed[1], perturbed[2], perturbed[3]))


class Totals:
    """The exact sum of releases of one stage: the same bits in any order, and any of them can be taken out again."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.n = 0
        self.devices = 0
        # Where outer reports have been cut off (`fsir.estimate.trimming`): what one integer left stands for, and by what
        # factor the variance of a value is larger than that of the exact sum.
        self.scale = 1.0
        self.inflation = 1.0
        self.blocks = tuple(np.zeros(block.size, np.int64) for block in stage.blocks)

    def add(self, release: Release, times: int = 1) -> None:
        """Add a release, or with `times = -1` take it out."""
        sizes = [block.shape for block in release.blocks]
        if sizes != [
            total.shape for total in self.blocks
        ]:  # before anything is added: numpy would stretch a block of 1
            raise ValueError(f"a release with blocks {sizes} does not belong to this stage")
        for total, block in zip(self.blocks, release.blocks, strict=True):
            total += times * block
        self.n += times * release.n
        self.devices += times

    def _block(self, index: int) -> Matrix:
        return self.blocks[index].astype(np.float64) * (self.stage.blocks[index].worth * self.scale)

    def sums(self) -> Matrix:
        """Noisy slice sums, features x columns, in the standardised units of the task."""
        # A code of length 1 is CODE_UNIT integers long: `unit` of the block has accounted for that already.
        return self._block(0).reshape(self.stage.p, self.stage.columns)

    def counts(self) -> NDArray[np.float64]:
        """Noisy records per slice."""
        return self._block(1)

    def second(self) -> Matrix:
        """Noisy second moment, features x features."""
        p = self.stage.p
        T = np.zeros((p, p))
        T[np.triu_indices(p, 1)] = self._block(3)
        T = T + T.T
        T[np.diag_indices(p)] = self._block(2)
        return T

    def code(self) -> Matrix:
        """The response code, slices x columns; the identity where there is none."""
        stage = self.stage
        return np.array(stage.code) / CODE_UNIT if stage.code else np.eye(stage.slices)
