"""How many devices it would take: fleets that do not exist, made of the records that do.

Each virtual device is one of the real ones, whose records are drawn again with replacement. It
reports under the same task with the same noise. That tells what noise costs; it cannot tell what
people would add who are unlike those that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fsir.task.task import Task
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios.evaluation import accuracy, without_network

MULTIPLES = (2, 4, 8, 16)


@dataclass(frozen=True)
class Larger:
    """A larger fleet, and how often its classifier is right."""

    devices: int
    accuracy: float


def larger_fleets(
    task: Task, devices: Sequence[DeviceStream], unseen: Sequence[DeviceStream], seed: int
) -> Iterator[Larger]:
    """Fleets of 2, 4, 8 and 16 times as many devices, one after the other."""
    for times in MULTIPLES:
        fleet = [drawn_again(stream, copy, seed) for copy in range(times) for stream in devices]
        yield Larger(len(fleet), accuracy(task, without_network(task, fleet, seed), unseen))


def drawn_again(stream: DeviceStream, copy: int, seed: int) -> DeviceStream:
    """A virtual device: as many records, drawn from those of a real one with replacement."""
    rng = np.random.default_rng([seed, copy, len(stream)])
    rows = np.sort(rng.integers(len(stream), size=len(stream)))
    return replace(stream, device=f"{stream.device}-{copy}", X=stream.X[rows], y=stream.y[rows])
