"""The release: what one report says about the data of a device.

The default `gaussian` releases slice sums, slice counts and the second moment together. With the
scales of `accounting.free_scales` the counts and the second moment are free: the whole release
costs `mu = 2C/s_M`, what the slice sums alone would cost (proof: docs/privacy.md, theorem 1).
Layout of the integer vector, public and fixed by the stage:

    sums          p x columns, feature by feature: the sum of x over each slice
                  (or times the response code)
    counts        one per slice
    diagonal      p: the sum of x_j^2
    off_diagonal  p(p-1)/2, row by row above the diagonal: the sum of x_j x_k
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.privacy import paper
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.plan import Block


class Release(NamedTuple):
    """The published integers of one device at one stage.

    Attributes
    ----------
    n : int
        Records that it is about.
    blocks : tuple of arrays
        Noisy slice sums, slice counts, diagonal and off-diagonal of the second moment; each number
        is worth `worth` of the block of the same place in `Stage.blocks`.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> block = np.array([5, -3])
    >>> fsir.Release(100, (block, block, block, block)).n
    100
    """

    n: int
    blocks: tuple[Integers, Integers, Integers, Integers]


def release(moments: Moments, noise: Noise) -> Release:
    """Perturb everything once. Who calls this twice for the same data pays twice.

    Parameters
    ----------
    moments
        What one device has learned.
    noise
        `SystemNoise()` wherever it protects somebody; `SeededNoise` in simulations.

    Returns
    -------
    Release
        What may leave the device.

    References
    ----------
    The proof that this is private stands in docs/privacy.md, theorem 1.

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
    >>> moments = fsir.Moments(task, fsir.first_stage(task))
    >>> moments.learn_many([[1.0, 0.5], [0.0, -0.5]] * 50, ["yes", "no"] * 50)
    >>> released = fsir.release(moments, fsir.SeededNoise(1))
    >>> released.n, [len(block) for block in released.blocks]
    (100, [4, 2, 2, 1])
    """
    stage = moments.stage
    exact = _exact(moments)
    by_vgm = stage.mechanism == "vgm"
    if by_vgm:
        unit = stage.sums.unit
        exact["sums"] = paper.with_vgm_noise(exact["sums"], moments.n, unit, stage.sums.sd, noise)

    def perturbed(block: Block) -> Integers:
        sd = 0.0 if by_vgm and block.name == "sums" else block.sd / block.unit
        return noise.perturb(exact[block.name].reshape(-1), sd, block.step)

    sums, counts, diagonal, off_diagonal = map(perturbed, stage.blocks)
    return Release(moments.n, (sums, counts, diagonal, off_diagonal))


def _exact(moments: Moments) -> dict[str, Matrix]:
    """The blocks before any noise, by name."""
    stage = moments.stage
    sums = moments.sums()
    second = moments.second()
    nothing = np.empty(0)
    return {
        "sums": sums @ np.array(stage.code, dtype=np.float64) if stage.code else sums,
        "counts": moments.counts() if stage.counts.size else nothing,
        "diagonal": nothing if second is None else np.diagonal(second),
        "off_diagonal": nothing if second is None else second[np.triu_indices(stage.p, 1)],
    }
