"""A record of ten numbers and a class, learned alone by `Moments`."""

import json
import random
import time

from benchmarks.learning import task_of
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage

draw = random.Random(0)
task = task_of(10)
records = [{name: draw.gauss(0.0, 1.0) for name in task.features.names} for _ in range(8192)]
labels = [draw.choice(task.response.classes) for _ in records]
times = []
for _ in range(5):
    moments = Moments(task, first_stage(task))
    start = time.process_time()
    for x, y in zip(records, labels, strict=True):
        moments.learn_one(x, y)
    moments.sums()
    times.append((time.process_time() - start) / len(records))
print(json.dumps({"seconds": min(times)}))
