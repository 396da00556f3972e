"""Seconds from a line of a CSV file, ten numbers with six digits and a label, to what is learned.

As in the agent of that commit: the source reads so many lines at a time as it does there, the
features of the task are taken from each record (once by the agent, later by the learner), records
are learned one by one or, where it can, together, and what was learned is watched.
"""

import inspect
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.learning import task_of
from edge_agent.learning.learner import MomentsLearner
from edge_agent.loop.feeding import BATCH_RECORDS
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
together = hasattr(MomentsLearner, "learn_sound")
times = []


def learn(learner, records):
    """What an agent does with records that it has read."""
    ys = [record.x.get("label") for record in records]
    if together and learner.learn_sound([record.x for record in records], ys):
        return
    for record, y in zip(records, ys, strict=True):
        x = record.x
        if not takes:
            x = {name: x[name] for name in learner.names if name in x}
        learner.learn_one(x, y)


with tempfile.TemporaryDirectory() as place:
    path = Path(place) / "records.csv"
    path.write_text("\n".join([",".join([*task.features.names, "label"]), *lines, ""]))
    for _ in range(7):
        source = CsvFile(str(path), Options())
        source.resume(START)
        learner = MomentsLearner(task, stage)
        start = time.process_time()
        while not source.ended:
            learn(learner, source.poll(BATCH_RECORDS))
        learner.watched()
        times.append((time.process_time() - start) / RECORDS)
        source.close()
print(min(times))
