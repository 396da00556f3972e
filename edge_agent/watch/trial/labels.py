"""Whether responses are what the task expects: which ones come, and whether they fit the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.task.public_map import Public
from fsir.task.task import Task

FEWEST_ROWS = 50  # of which something can be said
_NEAR_GUESSING = 0.25  # of the way from guessing to what the public sample reached


@dataclass(frozen=True)
class Rule:
    """How often the nearest public centre is that of a record's own class."""

    right: float
    guessing: float  # always the commonest class of these records
    public: float  # what the sample itself has reached

    @property
    def fails(self) -> bool:
        """Whether it is hardly better than guessing, although it should be."""
        gain = self.public - self.guessing
        return gain > 0.1 and self.right < self.guessing + _NEAR_GUESSING * gain


def shares(task: Task, slices: Integers) -> dict[str, float]:
    """The share of each slice among the records that have one."""
    counts = np.bincount(slices, minlength=task.slicing.count)
    total = max(1, int(counts.sum()))
    return {
        label: int(count) / total for label, count in zip(task.slicing.labels, counts, strict=True)
    }


def public_rule(task: Task, X: Matrix, slices: Integers) -> Rule | None:
    """The rule of a task with public centres on these records; None where there is none."""
    public = task.public
    if public is None or public.accuracy is None or not task.response.classes:
        return None
    if len(X) < FEWEST_ROWS:
        return None
    nearest = _nearest(task, public, X)
    return Rule(
        right=float((nearest == slices).mean()),
        guessing=float(np.bincount(slices).max() / len(slices)),
        public=public.accuracy,
    )


def _nearest(task: Task, public: Public, X: Matrix) -> Integers:
    R = task.clip.truncate
    Z = np.clip((X - np.array(task.features.centre)) / np.array(task.features.scale), -R, R)
    V = Z @ public.matrix(task.p)
    C = public.centre_rows()
    nearest: Integers = ((C * C).sum(axis=1) - 2.0 * V @ C.T).argmin(axis=1)
    return nearest


def clipped(task: Task, X: Matrix, slices: Integers) -> float:
    """The share of records that are longer than the clip."""
    R = task.clip.truncate
    Z = np.clip((X - np.array(task.features.centre)) / np.array(task.features.scale), -R, R)
    if task.public is not None:
        Z = Z @ task.public.matrix(task.p) - task.public.centre_rows()[slices]
    return float((np.linalg.norm(Z, axis=1) > task.clip.norm).mean())
