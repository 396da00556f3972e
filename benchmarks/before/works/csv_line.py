"""Seconds from a line of a CSV file, ten numbers with six digits and a label, to what is learned.

As in an agent: the source reads sixteen lines at a time, the features of the task are taken from
each record (by the agent before the learner did it), and what was learned is watched.
"""

import inspect
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.learning import task_of
from edge_agent.learning.learner import MomentsLearner
from edge_agent.records import START
from edge_agent.sources.base import Options
from edge_agent.sources.csv_file import CsvFile
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage

RECORDS = 8192
task = task_of(10)
stage = first_stage(task)
rng = np.random.default_rng(0)
labels = np.array(task.response.classes)[rng.integers(8, size=RECORDS)]
lines = [
    ",".join([*(f"{value:.6g}" for value in row), label])
    for row, label in zip(rng.normal(size=(RECORDS, 10)), labels, strict=True)
]
takes = "others" in inspect.signature(Moments.learn_one).parameters
times = []
with tempfile.TemporaryDirectory() as place:
    path = Path(place) / "records.csv"
    path.write_text("\n".join([",".join([*task.features.names, "label"]), *lines, ""]))
    for _ in range(7):
        source = CsvFile(str(path), Options())
        source.resume(START)
        learner = MomentsLearner(task, stage)
        start = time.process_time()
        while not source.ended:
            for record in source.poll(16):
                x = record.x
                if not takes:
                    x = {name: x[name] for name in learner.names if name in x}
                learner.learn_one(x, record.x["label"])
        learner.watched()
        times.append((time.process_time() - start) / RECORDS)
        source.close()
print(min(times))
