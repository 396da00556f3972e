"""The law of all rounds of a device, asked of the shipped release and of the shipped noise.

A tap in the place of the noise writes down which values a release perturbs, and by how much. An
axis in the place of the normals of each round shows how much of them the noise of every round has.
Both together are the covariance; no inverse and no norm of the shipped code is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import Stage
from fsir.privacy.release import release
from fsir.privacy.rounds.correlated import round_noise
from fsir.task.task import Task
from sim_devices.audit.mechanisms import Tap, learned
from sim_devices.audit.pairs import Records

_EXACT = 1e-9  # what is left of a difference that noise explains


@dataclass(frozen=True, eq=False)
class RoundsLaw:
    """Independent numbers, each with one value per round: `mean + sd factor z`, z standard normals.

    What is published is that, rounded.
    """

    mean: Matrix  # rounds x numbers
    sd: Matrix  # of each number, in the first round
    factor: Matrix  # rounds x normals

    def also(self, other: RoundsLaw, *, same_normals: bool = False) -> RoundsLaw:
        """Both published, with normals of their own or with the same ones."""
        rows, columns = self.factor.shape
        more_rows, more_columns = other.factor.shape
        start = 0 if same_normals else columns
        factor = np.zeros((rows + more_rows, max(columns, start + more_columns)))
        factor[:rows, :columns] = self.factor
        factor[rows:, start : start + more_columns] = other.factor
        return RoundsLaw(np.vstack([self.mean, other.mean]), self.sd, factor)

    def only(self, rounds: Sequence[int]) -> RoundsLaw:
        """Nothing but these rounds, of which the first is 0."""
        chosen = list(rounds)
        return RoundsLaw(self.mean[chosen], self.sd, self.factor[chosen])


class _Axis(SeededNoise):
    """Normals of which one is 1 and all others are 0."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self._index = index

    def normals(self, count: int) -> Matrix:
        """The one at the place of this axis."""
        return np.asarray(np.arange(count) == self._index, dtype=np.float64)


class _Probe(SeededNoise):
    """An axis for each label, in the order in which they are asked for."""

    def __init__(self) -> None:
        super().__init__(0)
        self.labels: dict[str, int] = {}

    def for_stage(self, name: str) -> SeededNoise:
        """The axis of this label."""
        return _Axis(self.labels.setdefault(name, len(self.labels)))


def law_of_rounds(task: Task, stage: Stage, blocks: Sequence[Records]) -> RoundsLaw:
    """What a device publishes about these blocks, one after the other."""
    taps = [Tap() for _ in blocks]
    for tap, block in zip(taps, blocks, strict=True):
        release(learned(task, stage, block), tap)
    laws = [tap.law() for tap in taps]
    mean = np.array([law.mean[:, 0] for law in laws])
    return RoundsLaw(mean, np.sqrt(laws[0].variances), factor_of(stage, len(blocks)))


def factor_of(stage: Stage, rounds: int) -> Matrix:
    """How much of the normals under each label the noise of each round has."""
    probe = _Probe()
    sources = [round_noise(probe, stage, t) for t in range(1, rounds + 1)]
    return np.array([source.normals(len(probe.labels)) for source in sources])


def cost(first: RoundsLaw, second: RoundsLaw) -> float:
    """The exact cost of telling one from the other: how far the normals would have to move.

    It is infinite where no normals explain the difference.
    """
    away = (first.mean - second.mean) / first.sd
    moved = np.linalg.lstsq(first.factor, away)[0]
    if np.abs(first.factor @ moved - away).max() > _EXACT * np.abs(away).max():
        return math.inf
    return float(np.linalg.norm(moved))
