"""One record at a time: `Moments.learn_one` beside River's StandardScaler on the same records.

Both take a dictionary of ten numbers. River keeps a mean and a variance of each; here it is the
slice sums and the whole second moment, exact, after checks and the clip.
"""

from __future__ import annotations

import numpy as np
from river.preprocessing import StandardScaler

from benchmarks.learning import SLICES, seconds, task_of
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage

RECORDS = 8192
BARS = {"River's StandardScaler / learn_one, p = 10": "> 1"}


def run() -> dict[str, float]:
    """The ratio, and what one record takes."""
    task = task_of(10)
    stage = first_stage(task)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(RECORDS, 10)).tolist()
    records = [dict(zip(task.features.names, row, strict=True)) for row in rows]
    labels = np.array(task.response.classes)[rng.integers(SLICES, size=RECORDS)].tolist()

    def ours() -> None:
        moments = Moments(task, stage)
        for x, y in zip(records, labels, strict=True):
            moments.learn_one(x, y)
        moments.sums()

    def river() -> None:
        scaler = StandardScaler()
        for x in records:
            scaler.learn_one(x)

    t_ours, t_river = seconds(ours, river, rounds=15)
    return {
        "River's StandardScaler / learn_one, p = 10": t_river / t_ours,
        "microseconds of learn_one, p = 10": 1e6 * t_ours / RECORDS,
    }
