"""What two aggregators would open of the reports of some devices, computed in one place.

Shares and seals cancel exactly: what is opened is the sum of the integers that devices have
released, and the noise of both aggregators.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsir.arrays import Integers
from fsir.errors import FsirError
from fsir.estimate.totals import Totals, opened_totals
from fsir.estimate.trimming import grouped_totals
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import Stage
from fsir.privacy.release import Release
from fsir.privacy.rounds.correlated import round_noise
from fsir.secure.groups import group_of
from fsir.secure.opening import aggregator_noise
from fsir.task.secure import ROLES, Secure
from fsir.task.task import Task


def opened_by_two(
    task: Task,
    secure: Secure,
    stage: Stage,
    devices: Sequence[str],
    releases: Sequence[Release],
    seed: int,
) -> Totals:
    """The totals of all devices: one cohort for each group that has enough of them."""
    groups: dict[int, list[Release]] = {}
    for device, release in zip(devices, releases, strict=True):
        groups.setdefault(group_of(task.digest, device, secure.groups), []).append(release)
    full = {group: some for group, some in groups.items() if len(some) >= secure.cohort}
    if not full:
        raise FsirError(
            f"cohort = {secure.cohort}: {len(devices)} devices are too few to open any sum; give "
            "a smaller --cohort"
        )
    opened = [_opened(stage, some, seed, group) for group, some in sorted(full.items())]
    return opened[0] if secure.groups == 1 else grouped_totals(stage, opened)


def _opened(stage: Stage, releases: Sequence[Release], seed: int, group: int) -> Totals:
    values = sum((np.concatenate(one.blocks) for one in releases), _added(stage, seed, group))
    records = sum(one.n for one in releases)
    return opened_totals(stage, values, len(releases), 1, records)


def _added(stage: Stage, seed: int, group: int) -> Integers:
    """The noise of both, drawn as their daemons draw it from a seed."""
    first, second = (
        aggregator_noise(stage, round_noise(SeededNoise(seed, role).for_stage(series), stage, 1))
        for role in ROLES
        for series in [f"group {group} cohort 1"]
    )
    return first + second
