"""Trimmed sums: reports put together so that no single device can pull the result away.

In every coordinate the lowest and the highest quarter of the reports are cut off, and what is left
stands for all (Yin et al. 2018). A liar then has to stay among the honest values, which the noise
of the mechanism spreads smoothly. The price is more variance (`inflation`). Only integers are
added: the same reports give the same bits in any order, and a report that is taken out leaves no
trace.
"""

from __future__ import annotations

from collections.abc import Sequence
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
_FRACTION_BITS = 12  # a mean per device is rounded to 2^-12 steps, far below any noise
_FARTHEST_MEAN = 2**50


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
    return _inflation(cut(devices) / max(devices, 1))


def _inflation(share: float) -> float:
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
    return _middle_sum(values, cut(devices))


def _middle_sum(values: NDArray[Any], c: int) -> NDArray[Any]:
    devices = values.shape[-1]
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


def cut_groups(groups: int) -> int:
    """How many groups are cut off on either side: a third, for each is many devices.

    >>> [cut_groups(groups) for groups in (1, 3, 10)]
    [0, 1, 3]
    """
    return groups // 3


def inflation_of_groups(groups: int) -> float:
    """`inflation` of so many groups."""
    return _inflation(cut_groups(groups) / max(groups, 1))


def grouped_totals(stage: Stage, groups: Sequence[Totals]) -> Totals:
    """What an estimate starts from where groups of devices were opened one by one.

    In every coordinate the groups' means per device are trimmed by a third on either side, so that
    a liar in so many groups pulls nothing away. Groups with more devices weigh no more. The
    variance is that of many groups: up to 1.5% too large from four groups on, of three 3.3% too
    small.
    """
    if not groups:
        return Totals(stage)
    c = cut_groups(len(groups))
    totals = Totals(stage)
    totals.devices = sum(group.devices for group in groups)
    totals.n = sum(group.n for group in groups)
    share = totals.devices / len(groups)  # devices of a group, on average
    totals.noise = sum((share / group.devices) ** 2 * group.noises for group in groups)
    totals.scale = totals.devices / (len(groups) - 2 * c) / 2.0**_FRACTION_BITS
    totals.inflation = inflation_of_groups(len(groups))
    for index, block in enumerate(totals.blocks):
        means = [_mean_per_device(group.blocks[index], group.devices) for group in groups]
        block[...] = _middle_sum(np.stack(means, axis=-1), c)
    return totals


def _mean_per_device(values: Integers, devices: int) -> Integers:
    """The mean, rounded down to a fraction of a step, as a whole number of such fractions."""
    whole, rest = np.divmod(values, devices)
    # Farther out than any honest mean, and near enough to stay within 64 bits.
    whole = np.clip(whole, -_FARTHEST_MEAN, _FARTHEST_MEAN)
    return np.asarray((whole << _FRACTION_BITS) + (rest << _FRACTION_BITS) // devices)
