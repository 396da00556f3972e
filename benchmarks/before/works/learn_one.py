"""Seconds for a record of ten numbers that is learned alone."""

import time

import numpy as np

from benchmarks.learning import task_of
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage

RECORDS = 8192
task = task_of(10)
stage = first_stage(task)
rng = np.random.default_rng(0)
rows = rng.normal(size=(RECORDS, 10)).tolist()
records = [dict(zip(task.features.names, row, strict=True)) for row in rows]
labels = np.array(task.response.classes)[rng.integers(8, size=RECORDS)].tolist()
times = []
for _ in range(9):
    moments = Moments(task, stage)
    start = time.process_time()
    for x, y in zip(records, labels, strict=True):
        moments.learn_one(x, y)
    moments.sums()
    times.append((time.process_time() - start) / RECORDS)
print(min(times))
