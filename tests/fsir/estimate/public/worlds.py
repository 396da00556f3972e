"""Classes whose truth is known, a public sample of them, and devices elsewhere."""

from __future__ import annotations

import numpy as np

from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.proposal.constants import Expectation
from tests.fsir.proposed import proposed_task

H = 3
P = 8


class World:
    """Round clouds; people who take part lie `strange` away from the public sample."""

    def __init__(self, seed=0, strange=0.5, apart=1.2):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.public = apart * rng.normal(size=(H, P))
        self.people = self.public + strange * rng.normal(size=(H, P))

    def records(self, n, centres):
        slices = self.rng.integers(0, H, n)
        return centres[slices] + self.rng.normal(size=(n, P)), slices

    def task(self, devices=20, records=300, epsilon=1.0, **more):
        X, slices = self.records(240, self.public)
        expected = Expectation(devices=devices, records=records, epsilon=epsilon)
        response = {"classes": [str(h) for h in range(H)]}
        return proposed_task(X, slices, response, expected, **more)

    def totals(self, task, devices, records=300, seed=0):
        totals = Totals(first_stage(task))
        for device in range(devices):
            X, slices = self.records(records, self.people)
            moments = Moments(task, totals.stage)
            moments.learn_many(X, slices.astype(str))
            totals.add(release(moments, SeededNoise(seed, str(device))))
        return totals


def without_noise(task):
    """The same task, where reports are exact."""
    from fsir.contract import task_from_table

    table = task.table()
    table["privacy"] = {**table["privacy"], "mechanism": "none"}
    table["privacy"].pop("split", None)
    return task_from_table(table)
