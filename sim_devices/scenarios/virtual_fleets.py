"""How many devices it would take: fleets that do not exist, made of the records that do.

Each virtual device is one of the real ones, whose records are drawn again with replacement. It
reports under the same task with the same noise. That tells what noise costs; it cannot tell what
people would add who are unlike those that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from fsir.estimate.subspace import estimate
from fsir.estimate.totals import Totals
from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios.evaluation import accuracy, report_of, without_network

MULTIPLES = (2, 4, 8, 16)
DRAWS = 3  # of records and noise; what is said is their mean


@dataclass(frozen=True)
class Larger:
    """A larger fleet, and how often its classifier is right."""

    devices: int
    accuracy: float


def larger_fleets(
    task: Task, devices: Sequence[DeviceStream], unseen: Sequence[DeviceStream], seed: int
) -> Iterator[Larger]:
    """Fleets of 2, 4, 8 and 16 times as many devices, one after the other."""
    fleets = [_Growing(task, devices, seed + draw) for draw in range(DRAWS)]
    for times in MULTIPLES:
        scores = [accuracy(task, fleet.grown(times), unseen) for fleet in fleets]
        yield Larger(times * len(devices), float(np.mean(scores)))


class _Growing:
    """A fleet whose devices stay when more of them come."""

    def __init__(self, task: Task, devices: Sequence[DeviceStream], seed: int) -> None:
        self._task = task
        self._devices = devices
        self._seed = seed
        self._copies = 0
        self._totals = Totals(first_stage(task))

    def grown(self, times: int) -> Subspace:
        """The subspace of so many times as many devices."""
        task = self._task
        if task.screening is not None or task.aggregation is not None:  # these want all at once
            everyone = [stream for copy in range(times) for stream in self._copy(copy)]
            return without_network(task, everyone, self._seed)
        n = task.report.records or min(map(len, self._devices))
        for copy in range(self._copies, times):
            for stream in self._copy(copy):
                self._totals.add(report_of(task, self._totals.stage, stream, n, self._seed))
        self._copies = times
        return estimate(task, self._totals)

    def _copy(self, copy: int) -> list[DeviceStream]:
        return [drawn_again(stream, copy, self._seed) for stream in self._devices]


def fleet_of(devices: Sequence[DeviceStream], count: int, seed: int) -> list[DeviceStream]:
    """So many devices: some of the real ones by lot, or all of them and virtual ones beside them.

    With the same seed a smaller fleet is a part of every larger one.
    """
    order = np.random.default_rng(seed).permutation(len(devices)).tolist()
    drawn = (
        drawn_again(devices[k], copy, seed) for copy in range(count // len(devices)) for k in order
    )
    return list(islice(chain((devices[k] for k in order), drawn), count))


def drawn_again(stream: DeviceStream, copy: int, seed: int) -> DeviceStream:
    """A virtual device: as many records, drawn from those of a real one with replacement."""
    rng = np.random.default_rng([seed, copy, len(stream)])
    rows = np.sort(rng.integers(len(stream), size=len(stream)))
    return replace(stream, device=f"{stream.device}-{copy}", X=stream.X[rows], y=stream.y[rows])
