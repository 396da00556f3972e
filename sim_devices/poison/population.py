"""Honest reports of many devices at once:
simulated records, the agent's own clipping, noise as it is published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.contract import task_from_table
from fsir.privacy.plan import Stage, first_stage
from fsir.privacy.quantiser import Quantiser
from fsir.task.task import Task
from sim_devices.datasets.models import (
    Model,
    cut_points,
    dimension,
    simulate,
    slice_count,
    true_basis,
)
from sim_devices.paper.merged_release import clip_norm


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One federation: a model of the paper in `p` features, devices with `n` records each."""

    model: Model = "III"
    devices: int = 30
    n: int = 1000
    p: int = 10
    epsilon: float = 1.0
    delta: float = 1e-6
    # Every device's records are shifted by its own normal vector of this standard deviation.
    spread: float = 0.0
    # Share of the slices from which a device has no records, chosen for each at random.
    lacking: float = 0.0

    @property
    def d(self) -> int:
        """Dimension of the subspace, which the task states."""
        return dimension(self.model)

    def task(self) -> Task:
        """The public contract."""
        C = clip_norm(self.p)
        return task_from_table(
            {
                "name": f"model-{self.model}",
                "features": {"names": [f"x{j + 1}" for j in range(self.p)]},
                "response": {"cuts": list(cut_points(self.model, self.p, "low"))},
                "clip": {"truncate": C, "norm": C},
                "privacy": {"epsilon": self.epsilon, "delta": self.delta},
                "report": {"records": self.n},
                "dimension": self.d,
            }
        )


@dataclass(frozen=True, eq=False)
class Draw:
    """One simulated federation in which everybody is honest."""

    truth: Matrix  # p x d
    rows: Matrix  # devices x width, whole numbers: the integer vectors of the reports


class Population:
    """Draws federations of one setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        task = setting.task()
        self.stage: Stage = first_stage(task)
        self._quantiser = Quantiser(task, self.stage)
        self._cuts = np.array(task.response.cuts)
        blocks = self.stage.blocks
        self._step = np.repeat([block.step for block in blocks], self.stage.sizes)
        self._spread = np.repeat([block.sd / block.worth for block in blocks], self.stage.sizes)

    def draw(self, rng: np.random.Generator) -> Draw:
        """Devices that all tell the truth."""
        s = self.setting
        truth = true_basis(s.model, s.p, "low", rng)
        exact = np.stack([self._exact(truth, rng) for _ in range(s.devices)])
        noise = self._spread * rng.standard_normal(exact.shape)
        return Draw(truth, np.rint(exact / self._step + noise))

    def _exact(self, truth: Matrix, rng: np.random.Generator) -> Matrix:
        s = self.setting
        X, slices = self._records(truth, rng)
        X = X + s.spread * rng.standard_normal(s.p)
        K = self._quantiser.clipped(self._quantiser.truncated(X))
        one_hot = np.zeros((s.n, slice_count(s.model)))
        one_hot[np.arange(s.n), slices] = 1.0
        second = K.T @ K
        parts = ((K.T @ one_hot).reshape(-1), one_hot.sum(axis=0), np.diagonal(second))
        return np.concatenate([*parts, second[np.triu_indices(s.p, 1)]])

    def _records(self, truth: Matrix, rng: np.random.Generator) -> tuple[Matrix, Integers]:
        """The records of one device and their slices."""
        s = self.setting
        H = slice_count(self.setting.model)
        lacking = rng.permutation(H)[: int(s.lacking * H)]
        # At most half of the slices are lacking: enough is left.
        drawn = s.n if not len(lacking) else 3 * s.n
        X, y = simulate(s.model, drawn, s.p, "low", rng, basis=truth)
        slices = np.searchsorted(self._cuts, y, side="left")
        there = np.flatnonzero(~np.isin(slices, lacking))[: s.n]
        return X[there], slices[there]
