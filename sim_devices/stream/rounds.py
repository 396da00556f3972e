"""Devices in one process that report round after round, with the code that real ones use."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from fsir.arrays import Integers
from fsir.errors import FsirError
from fsir.estimate.rounds.history import History
from fsir.privacy.moments import Moments
from fsir.privacy.plan import Stage, first_stage
from fsir.privacy.release import release
from fsir.privacy.rounds.correlated import round_noise
from fsir.secure.opening import aggregator_noise
from fsir.task.secure import ROLES
from fsir.task.task import Task
from sim_devices.datasets.population import DeviceStream
from sim_devices.stream.noise import DrawnOnce

SERIES = ""  # what is no device: the noise that both aggregators add, in one cohort of each round


class Fleet:
    """Devices whose reports are counted as an aggregator would count them.

    Where two aggregators open sums, all devices of a round are in one.
    """

    def __init__(self, task: Task, seed: int, stage: Stage | None = None) -> None:
        self.task = task
        self.history = History(first_stage(task) if stage is None else stage)
        self._seed = seed
        self._noise: dict[str, DrawnOnce] = {}
        self._counted: dict[str, tuple[int, ...]] = {}

    def report(self, round: int, streams: Iterable[DeviceStream]) -> None:
        """One round: each of these devices reports all of these records."""
        stage = self.history.stage
        devices = 0
        for stream in streams:
            moments = Moments(self.task, stage)
            moments.learn_many(stream.X[:, list(stage.features)], stream.y)
            noise = self._noise.setdefault(stream.device, DrawnOnce(self._seed, stream.device))
            released = release(moments, round_noise(noise, stage, round))
            self._count(stream.device, round, np.concatenate(released.blocks), released.n)
            devices += 1
        if stage.cohort is not None:
            self._open(round, devices, stage.cohort)

    def devices(self, rounds: Collection[int]) -> int:
        """How many devices have a part in any of these rounds."""
        counted = (had for name, had in self._counted.items() if name != SERIES)
        return sum(not set(rounds).isdisjoint(had) for had in counted)

    def _open(self, round: int, devices: int, cohort: int) -> None:
        """Add the noise of both, each of which is that of `cohort` devices."""
        if devices < cohort:
            raise FsirError(
                f"cohort = {cohort}: {devices} devices are too few to open a sum; give a smaller "
                "--cohort"
            )
        stage = self.history.stage
        for role in ROLES:
            noise = self._noise.setdefault(f"/{role}", DrawnOnce(self._seed, SERIES, role))
            values = aggregator_noise(stage, round_noise(noise, stage, round))
            self.history.sums[round] = self.history.sums[round] + values
        self._remember(SERIES, round, len(ROLES) * cohort)

    def _count(self, device: str, round: int, values: Integers, n: int) -> None:
        history = self.history
        history.sums[round] = history.sums[round] + values if round in history.sums else values
        history.records[round] = history.records.get(round, 0) + n
        self._remember(device, round, 1)

    def _remember(self, name: str, round: int, devices: int) -> None:
        """That a device, or what has the noise of so many, has one more round."""
        patterns = self.history.patterns
        before = self._counted.get(name, ())
        now = (*before, round)
        if before:
            patterns[before] -= devices
            if not patterns[before]:
                del patterns[before]
        patterns[now] = patterns.get(now, 0) + devices
        self._counted[name] = now
