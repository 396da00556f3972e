"""Devices in one process that report round after round, with the code that real ones use."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fsir.estimate.rounds.history import History
from fsir.privacy.moments import Moments
from fsir.privacy.plan import Stage, first_stage
from fsir.privacy.release import Release, release
from fsir.privacy.rounds.correlated import round_noise
from fsir.task.task import Task
from sim_devices.datasets.population import DeviceStream
from sim_devices.stream.noise import DrawnOnce


class Fleet:
    """Devices whose reports are counted as an aggregator would count them."""

    def __init__(self, task: Task, seed: int, stage: Stage | None = None) -> None:
        self.task = task
        self.history = History(first_stage(task) if stage is None else stage)
        self._seed = seed
        self._noise: dict[str, DrawnOnce] = {}
        self._counted: dict[str, tuple[int, ...]] = {}

    def report(self, round: int, streams: Iterable[DeviceStream]) -> None:
        """One round: each of these devices reports all of these records."""
        stage = self.history.stage
        for stream in streams:
            moments = Moments(self.task, stage)
            moments.learn_many(stream.X[:, list(stage.features)], stream.y)
            noise = self._noise.setdefault(stream.device, DrawnOnce(self._seed, stream.device))
            self._count(stream.device, round, release(moments, round_noise(noise, stage, round)))

    def _count(self, device: str, round: int, released: Release) -> None:
        history = self.history
        values = np.concatenate(released.blocks)
        history.sums[round] = history.sums[round] + values if round in history.sums else values
        history.records[round] = history.records.get(round, 0) + released.n
        before = self._counted.get(device, ())
        now = (*before, round)
        if before:
            history.patterns[before] -= 1
            if not history.patterns[before]:
                del history.patterns[before]
        history.patterns[now] = history.patterns.get(now, 0) + 1
        self._counted[device] = now
