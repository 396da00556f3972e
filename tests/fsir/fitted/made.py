"""Subspaces of small federations, for the tests of what is done with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsir.estimate.subspace import estimate
from fsir.estimate.totals import Totals
from fsir.fitted.subspace import Subspace
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import final_stage, first_stage
from fsir.privacy.release import release
from fsir.task.task import Task
from tests.fsir.tasks import mapped, screened, task

SCALES = {"centre": [0.5, -1.0, 2.0, 0.0], "scale": [1.0, 3.0, 0.7, 0.1]}
NUMBERS = {"name": "delay", "classes": None, "cuts": [-0.5, 0.0, 0.5]}


def records(of: Task, n: int, seed: int = 0) -> tuple[Any, Any]:
    """Raw rows over all features of a task, and responses that depend on the first of them."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(n, of.p))
    if of.response.classes:
        slices = rng.integers(0, len(of.response.classes), n)
        U[np.arange(n), slices % of.p] += 1.5
        y = np.array(of.response.classes)[slices]
    else:
        y = U[:, 0] - U[:, 1] + 0.3 * rng.normal(size=n)
    return U * np.array(of.features.scale) + np.array(of.features.centre), y


def fitted(of: Task, devices: int = 8, features: tuple[int, ...] = ()) -> Subspace:
    """What a federation of so many devices gives; of a task that screens, with these features."""
    stage = final_stage(of, features) if features else first_stage(of)
    totals = Totals(stage)
    for seed in range(devices):
        X, y = records(of, of.report.records or 0, seed)
        moments = Moments(of, stage)
        moments.learn_many(X[:, list(stage.features)], y)
        totals.add(release(moments, SeededNoise(seed)))
    return Subspace(of, estimate(of, totals))


def plain(p: int = 4, **changes: Any) -> Subspace:
    """Classes, on scales of their own."""
    scales = SCALES if p == 4 else {}
    return fitted(task(p, **{"features": scales, "privacy": {"epsilon": 8}, **changes}))


def numeric() -> Subspace:
    """A numeric response."""
    return fitted(task(4, features=SCALES, response=NUMBERS, privacy={"epsilon": 8}))


def of_screened() -> Subspace:
    """Three features of six, not in their order."""
    return fitted(screened(6), features=(4, 0, 1))


def of_mapped() -> Subspace:
    """With a public map, and a classifier with directions of its own."""
    return fitted(mapped(6, 3, dimension=1))


ALL = {
    "plain": plain,
    "numeric": numeric,
    "screened": of_screened,
    "mapped": of_mapped,
    "wide": lambda: plain(60),
    "identity": lambda: fitted(mapped(5, identity=True)),
}
