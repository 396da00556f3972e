"""A batch of 64 rows of 561 features, learned by `Moments`."""

import json
import time

import numpy as np

from benchmarks.learning import SLICES, task_of
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 64, 561))
task = task_of(561)
y = np.array(task.response.classes)[rng.integers(SLICES, size=(40, 64))]
moments = Moments(task, first_stage(task))
start = time.process_time()
for batch, labels in zip(X, y, strict=True):
    moments.learn_many(batch, labels)
moments.sums()
print(json.dumps({"seconds": (time.process_time() - start) / len(X)}))
