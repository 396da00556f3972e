"""Trimmed sums: reports put together so that no single device can pull the result away.

In every coordinate the lowest and the highest quarter of the reports are cut off, and what is left
stands for all (Yin et al. 2018). A liar then has to stay among the honest values, which the noise
of the mechanism spreads smoothly. The price is more variance (`inflation`). Only integers are
added: the same reports give the same bits in any order, and a report that is taken out leaves no
trace.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Integers
from fsir.errors import AccumulatorError
from fsir.estimate.totals import Totals
from fsir.privacy.plan import Stage

_NORMAL = NormalDist()
_ROOM = 2**62  # what 64 bits hold, with a margin


def cut(devices: int) -> int:
    """How many reports are cut off on either side: a quarter, rounded down.

    >>> [cut(devices) for devices in (3, 4, 30)]
    [0, 1, 7]
    """
    return devices // 4


def inflation(devices: int) -> float:
    """Variance of the trimmed mean of so many normal values over that of their plain mean.

    It is the limit for many devices (Huber 1981), taken at the share that is really cut off: up to
    1.3% too large for few.
    """
    share = cut(devices) / max(devices, 1)
    if share == 0.0:
        return 1.0
    q = _NORMAL.inv_cdf(1.0 - share)
    kept = 1.0 - 2.0 * share
    return (kept - 2.0 * q * _NORMAL.pdf(q) + 2.0 * share * q * q) / kept**2


def trimmed_sum(values: NDArray[Any]) -> NDArray[Any]:
    """The sum over the last axis, the devices, without the outer quarters.

    Whole numbers are added exactly.
    """
    devices = values.shape[-1]
    c = cut(devices)
    middle = np.sort(values, axis=-1)[..., c : devices - c] if c else values
    if not np.issubdtype(values.dtype, np.integer):
        return np.asarray(middle.sum(axis=-1))
    # Numbers of 32 bits cannot add up to the end of 64.
    wide = values.dtype.itemsize > 4 and values.size
    if wide and max(int(middle.max()), -int(middle.min())) * devices > _ROOM:
        raise AccumulatorError(
            f"the sums of {devices} devices are at the end of 64 bits; start a new epoch"
        )
    return np.asarray(middle.sum(axis=-1, dtype=np.int64))


def trimmed_totals(stage: Stage, sums: Integers, devices: int, records: int) -> Totals:
    """What an estimate starts from.

    `sums` are the trimmed sums of all coordinates, over reports of equal size.
    """
    totals = Totals(stage)
    totals.devices = devices
    totals.n = records
    totals.scale = devices / max(devices - 2 * cut(devices), 1)
    totals.inflation = inflation(devices)
    for block, span in zip(totals.blocks, stage.spans, strict=True):
        block[...] = sums[span]
    return totals
