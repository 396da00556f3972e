"""Someone walks: samples for the tests of sensor sources, what they make of them, and a task."""

from __future__ import annotations

import csv
import time
from contextlib import closing
from itertools import zip_longest
from pathlib import Path

import numpy as np

from edge_agent.records import START
from edge_agent.signal.features import FEATURE_NAMES
from edge_agent.signal.windows import Windower
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from fsir.contract import task_from_table

FIRST = 1_328_125_000  # a window of the year 2023 ...
BEGIN = FIRST * 1.28  # ... and when it begins
OPTIONS = Options(acc_range=8.0, gyro_range=35.0)


def recording(seconds, seed=0, jitter=0.004, rate=50.0, start=BEGIN):
    """Times, acceleration in g, rotation in rad/s."""
    rng = np.random.default_rng(seed)
    n = int(seconds * rate)
    times = start + (np.arange(n) + 0.5) / rate + rng.uniform(-jitter, jitter, n)
    phase = 2 * np.pi * 1.9 * (times - start)[:, None]
    lag = np.arange(3)
    acc = [0.9, -0.2, 0.3] + [0.2, 0.1, 0.15] * np.sin(phase + lag) + rng.normal(0, 0.01, (n, 3))
    gyro = [0.5, 0.8, 0.3] * np.sin(phase / 2 - lag) + rng.normal(0, 0.02, (n, 3))
    return times, acc, gyro


def run(times, acc, gyro, **options):
    """The windows of a recording, and the windower."""
    windower = Windower(**options)
    return windower.push(times, acc, gyro), windower


def signals_of(windows):
    """What windows hold, to the bit, by their number."""
    return {window.index: window.signals.tobytes() for window in windows}


def write_recording(path: Path, times, acc, gyro, labels=None) -> Path:
    """The same as a file that `signals:FILE` reads."""
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        names = ["time", "acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z"]
        table.writerow(names if labels is None else [*names, "label"])
        given = labels if labels is not None else ()
        for instant, a, g, label in zip_longest(times, acc, gyro, given):
            row = [repr(float(value)) for value in (instant, *a, *g)]
            table.writerow(row if labels is None else [*row, label])
    return path


def everything(source, after=START, limit=16):
    """All records of a source that ends."""
    source.resume(after)
    records = []
    while not source.ended:
        records += source.poll(limit)
    return records


def read(path, after=START, options=OPTIONS, limit=16):
    """All records of a recording, and the source."""
    with closing(open_source(f"signals:{path}", options)) as source:
        return everything(source, after, limit), source


def raw_task(records=100, unit_records=2):
    """A task over the features of raw signals."""
    table = {
        "name": "test",
        "features": {"names": list(FEATURE_NAMES)},
        "response": {"name": "activity", "classes": ["a", "b"]},
        "clip": {"truncate": 1.0, "norm": 18.0},
        "privacy": {"epsilon": 1.0, "unit_records": unit_records},
        "report": {"records": records},
    }
    return task_from_table(table)


def until(condition, seconds=60.0):
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.02)
